/** `holdfast/otel`: turns the events of the library into metrics and spans of OpenTelemetry. */
export { type InstrumentOptions, instrument } from "./features/otel/instrument.js";
