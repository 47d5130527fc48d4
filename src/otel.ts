/** `holdfast/otel`: metrics and spans of OpenTelemetry, made from the events of the library. */
export { type InstrumentOptions, instrument } from "./features/otel/instrument.js";
