/**
 * Turns the library's diagnostics channels into OpenTelemetry metrics and spans (`holdfast/otel`). The core knows
 * nothing of this file: before a program calls `instrument`, no event is built and OpenTelemetry is not loaded.
 *
 *   holdfast.lock.wait      histogram, ms   time in the queue of each acquire that was granted; 0 when it did not wait
 *   holdfast.lock.hold      histogram, ms   from acquire to release
 *   holdfast.lock.refused   counter         acquires that failed, by `error.type`
 *   holdfast.lock.lost      counter         leases that were lost, by `error.type`
 *   holdfast.lock.ended     counter         grants ended without their holder
 *   holdfast.queue.length   histogram       the waiters seen by each acquire that contention refused
 *
 * Attributes of metrics have few values: the mode and the kind of owner, never a key or an owner's name. Spans
 * (`holdfast.wait` for a wait that was one, `holdfast.hold`) carry the keys. Each span is made when it has ended, under
 * the context that is active then.
 */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import {
  type Attributes,
  type Meter,
  type MeterProvider,
  metrics,
  type Tracer,
  type TracerProvider,
  trace,
} from "@opentelemetry/api";
import { checkOptions, type OptionNames } from "../../base/check-options.js";
import type { Events } from "../../client/events.js";
import { type Clock, createSystemClock } from "../../platform/clock.js";

export interface InstrumentOptions {
  /** Default: the global one. */
  readonly meterProvider?: MeterProvider;
  /** Default: the global one. */
  readonly tracerProvider?: TracerProvider;
  /** False makes no spans. */
  readonly spans?: boolean;
}

const INSTRUMENT: OptionNames<InstrumentOptions> = { meterProvider: true, tracerProvider: true, spans: true };

type Handlers = { readonly [Name in keyof Events]: (event: Events[Name]) => void };

const SCOPE = "holdfast";

/** Starts recording what this process does. Dispose the result to stop; calling it twice records everything twice. */
export function instrument(options: InstrumentOptions = {}): Disposable {
  checkOptions(options, INSTRUMENT);
  const meter = (options.meterProvider ?? metrics.getMeterProvider()).getMeter(SCOPE);
  const tracer =
    options.spans === false ? null : (options.tracerProvider ?? trace.getTracerProvider()).getTracer(SCOPE);
  const handlers = createHandlers(meter, tracer, createSystemClock());
  const subscriptions = Object.entries(handlers).map(([name, handle]) => {
    const listener = (event: unknown): void => (handle as (event: unknown) => void)(event);
    subscribe(`holdfast:${name}`, listener);
    return () => unsubscribe(`holdfast:${name}`, listener);
  });
  return {
    [Symbol.dispose]() {
      for (const end of subscriptions.splice(0)) end();
    },
  };
}

function createHandlers(meter: Meter, tracer: Tracer | null, clock: Clock): Handlers {
  const endedSpan = (name: string, lastedMs: number, attributes: Attributes): void => {
    if (tracer === null) return;
    const endTime = clock().wallMs;
    tracer.startSpan(name, { startTime: endTime - lastedMs, attributes }).end(endTime);
  };
  const wait = meter.createHistogram("holdfast.lock.wait", { unit: "ms", description: "Time in line of an acquire." });
  const hold = meter.createHistogram("holdfast.lock.hold", {
    unit: "ms",
    description: "Time from acquire to release.",
  });
  const refused = meter.createCounter("holdfast.lock.refused", { description: "Acquires that failed." });
  const lost = meter.createCounter("holdfast.lock.lost", { description: "Leases lost by their holder." });
  const ended = meter.createCounter("holdfast.lock.ended", { description: "Grants ended without their holder." });
  const line = meter.createHistogram("holdfast.queue.length", { description: "Waiters seen by a refused acquire." });

  return {
    acquired({ resources, mode, owner, waitedMs }) {
      wait.record(waitedMs, { ...ownerKind(owner), "holdfast.mode": mode });
      if (waitedMs > 0) endedSpan("holdfast.wait", waitedMs, spanAttributes(resources, owner, mode));
    },
    released({ resources, mode, owner, heldMs }) {
      hold.record(heldMs, { ...ownerKind(owner), "holdfast.mode": mode });
      endedSpan("holdfast.hold", heldMs, spanAttributes(resources, owner, mode));
    },
    refused({ owner, code, queueLength }) {
      refused.add(1, { ...ownerKind(owner), "error.type": code });
      if (CONTENTION.has(code)) line.record(queueLength, ownerKind(owner));
    },
    lost: ({ owner, code }) => lost.add(1, { ...ownerKind(owner), "error.type": code }),
    ended: ({ owner }) => ended.add(1, ownerKind(owner)),
  };
}

const CONTENTION: ReadonlySet<string> = new Set(["E_LOCK_CONFLICT", "E_LOCK_TIMEOUT", "E_LOCK_ORDER"]);

function ownerKind(owner: string): Attributes {
  return { "holdfast.owner.kind": owner.split(":", 1)[0] ?? "" };
}

function spanAttributes(resources: readonly string[], owner: string, mode: string): Attributes {
  return { "holdfast.keys": [...resources], "holdfast.owner": owner, "holdfast.mode": mode };
}
