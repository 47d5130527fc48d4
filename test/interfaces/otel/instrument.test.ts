import { spawnSync } from "node:child_process";
import { channel } from "node:diagnostics_channel";
import {
  type Attributes,
  createNoopMeter,
  type MeterProvider,
  type MetricOptions,
  type SpanOptions,
  type TimeInput,
  type TracerProvider,
  trace,
} from "@opentelemetry/api";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type InstrumentOptions, instrument } from "../../../src/features/otel/instrument.js";
import { type Holdfast, openHoldfast } from "../../../src/index.js";
import { codeOf } from "../../fixtures/error-code.fixture.js";

interface Point {
  readonly metric: string;
  readonly value: number;
  readonly attributes: Attributes | undefined;
}
interface SpanRecord {
  readonly name: string;
  readonly attributes: Attributes | undefined;
  readonly startTime: number;
  readonly endTime: number;
}

/** Keeps every measurement and every span, and nothing else of the API. */
function createRecorder() {
  const points: Point[] = [];
  const spans: SpanRecord[] = [];
  const units = new Map<string, string | undefined>();
  const keep = (metric: string, options: MetricOptions | undefined) => {
    units.set(metric, options?.unit);
    return (value: number, attributes?: Attributes): void => void points.push({ metric, value, attributes });
  };
  const meterProvider: MeterProvider = {
    getMeter: () => ({
      ...createNoopMeter(),
      createHistogram: (metric, options) => ({ record: keep(metric, options) }),
      createCounter: (metric, options) => ({ add: keep(metric, options) }),
    }),
  };
  const noopTracer = trace.getTracer("none");
  const tracerProvider: TracerProvider = {
    getTracer: () => ({
      startActiveSpan: noopTracer.startActiveSpan.bind(noopTracer),
      startSpan(name: string, { attributes, startTime }: SpanOptions = {}) {
        const span = noopTracer.startSpan(name);
        span.end = (endTime?: TimeInput) =>
          void spans.push({ name, attributes, startTime: Number(startTime), endTime: Number(endTime) });
        return span;
      },
    }),
  };
  const values = (metric: string): number[] => points.filter((point) => point.metric === metric).map((p) => p.value);
  return { meterProvider, tracerProvider, points, spans, units, values };
}

let recorder: ReturnType<typeof createRecorder>;
let ours: Holdfast;
let theirs: Holdfast;
let listening: Disposable | undefined;
let storeNumber = 0;

beforeEach(async () => {
  recorder = createRecorder();
  const store = `memory:otel-${storeNumber++}`;
  ours = await openHoldfast({ store, owner: "agent:ours" });
  theirs = await openHoldfast({ store, owner: "user:theirs" });
});

afterEach(async () => {
  listening?.[Symbol.dispose]();
  listening = undefined;
  await ours.close();
  await theirs.close();
});

function listen(options: InstrumentOptions = {}): void {
  const { meterProvider, tracerProvider } = recorder;
  listening = instrument({ meterProvider, tracerProvider, ...options });
}

describe("LIB-1 OpenTelemetry", () => {
  it("LIB-1 records wait and hold in ms, by mode and kind of owner, never by key", async () => {
    listen();
    const lease = await ours.acquire("project:a", { mode: "read" });
    await lease.release();
    expect(recorder.points.map((point) => point.metric)).toEqual(["holdfast.lock.wait", "holdfast.lock.hold"]);
    for (const { value, attributes } of recorder.points) {
      expect(value).toBeGreaterThanOrEqual(0);
      expect(attributes).toEqual({ "holdfast.mode": "read", "holdfast.owner.kind": "agent" });
    }
    expect(recorder.units.get("holdfast.lock.wait")).toBe("ms");
    expect(recorder.units.get("holdfast.lock.hold")).toBe("ms");
  });

  it("LIB-1 records how long a wait in line was, as a metric and as a span with the keys", async () => {
    listen();
    const first = await theirs.acquire("project:a");
    const second = ours.acquire("project:a", { wait: "1h" });
    while ((await theirs.inspect("project:a")).waiters.length === 0) await new Promise(setImmediate);
    await new Promise((resolve) => setTimeout(resolve, 30));
    await first.release();
    await (await second).release();

    const [none, waited = 0] = recorder.values("holdfast.lock.wait");
    expect(none).toBe(0);
    expect(waited).toBeGreaterThan(20);
    const waits = recorder.spans.filter((span) => span.name === "holdfast.wait");
    expect(waits).toHaveLength(1);
    expect(waits[0]?.attributes).toEqual({
      "holdfast.keys": ["project:a"],
      "holdfast.owner": "agent:ours",
      "holdfast.mode": "write",
    });
    expect((waits[0]?.endTime ?? 0) - (waits[0]?.startTime ?? 0)).toBeCloseTo(waited, 3);
    expect(recorder.spans.filter((span) => span.name === "holdfast.hold")).toHaveLength(2);
  });

  it("LIB-1 counts refusals by code, with the length of the line", async () => {
    await using _held = await theirs.acquire("project:a");
    listen();
    expect(await codeOf(ours.acquire("project:a", { wait: 0 }))).toBe("E_LOCK_CONFLICT");
    expect(await codeOf(ours.acquire("project:a", { wait: 20 }))).toBe("E_LOCK_TIMEOUT");
    const refused = recorder.points.filter((point) => point.metric === "holdfast.lock.refused");
    expect(refused.map((point) => [point.value, point.attributes?.["error.type"]])).toEqual([
      [1, "E_LOCK_CONFLICT"],
      [1, "E_LOCK_TIMEOUT"],
    ]);
    expect(recorder.values("holdfast.queue.length")).toEqual([0, 0]);
  });

  it("LIB-1 counts what was ended without its holder, and the loss of its lease", async () => {
    const lease = await ours.acquire("project:a");
    listen();
    await theirs.break("project:a", { reason: "a test" });
    expect(await codeOf(lease.verify())).toBe("E_LOCK_NOT_HELD");
    expect(recorder.points).toContainEqual({
      metric: "holdfast.lock.ended",
      value: 1,
      attributes: { "holdfast.owner.kind": "agent" },
    });
    expect(recorder.points).toContainEqual({
      metric: "holdfast.lock.lost",
      value: 1,
      attributes: { "holdfast.owner.kind": "agent", "error.type": "E_LOCK_NOT_HELD" },
    });
  });

  it("LIB-1 makes no spans when told so", async () => {
    listen({ spans: false });
    await (await ours.acquire("project:a")).release();
    expect(recorder.spans).toEqual([]);
    expect(recorder.points).not.toEqual([]);
  });

  it("LIB-1 stops, and leaves nobody listening, when it is disposed", async () => {
    const channels = ["acquired", "released", "refused", "lost", "ended"].map((name) => channel(`holdfast:${name}`));
    expect(channels.some((each) => each.hasSubscribers)).toBe(false);
    listen();
    expect(channels.every((each) => each.hasSubscribers)).toBe(true);
    listening?.[Symbol.dispose]();
    listening?.[Symbol.dispose]();
    expect(channels.some((each) => each.hasSubscribers)).toBe(false);
    await (await ours.acquire("project:a")).release();
    expect(recorder.points).toEqual([]);
  });

  it("LIB-1 works without a provider: the API's own one does nothing", async () => {
    listening = instrument();
    await (await ours.acquire("project:a")).release();
  });

  it("LIB-1 costs nothing unused: the library does not load OpenTelemetry", () => {
    expect(loadsWithoutOpenTelemetry("index.js")).toBe(true);
    expect(loadsWithoutOpenTelemetry("features/otel/instrument.js")).toBe(false);
  });
});

/** Loads a file of dist/ in a process where OpenTelemetry cannot be found. */
function loadsWithoutOpenTelemetry(entry: string): boolean {
  const hook = `export async function resolve(specifier, context, next) {
    if (specifier.startsWith("@opentelemetry/")) throw new Error("not installed");
    return next(specifier, context);
  }`;
  const script = `
    import { register } from "node:module";
    register(${JSON.stringify(`data:text/javascript,${encodeURIComponent(hook)}`)});
    await import(${JSON.stringify(new URL(`../../../dist/${entry}`, import.meta.url).href)});
  `;
  return spawnSync(process.execPath, ["--input-type=module", "-e", script]).status === 0;
}
