import { afterEach, describe, expect, it, vi } from "vitest";
import { parseDuration, showDuration } from "../../../src/base/duration.js";
import { type AcquireOptions, parseAcquire, parseOwner, waitFrom } from "../../../src/client/options.js";
import { openHoldfast } from "../../../src/features/configuration.js";
import { fc } from "../../fixtures/fast-check.fixture.js";

afterEach(() => vi.unstubAllEnvs());

const NOTHING = {};
const ANY = { atLeastMs: 0, atMostMs: 1e12 };

describe("durations", () => {
  it.each([
    [1_500, 1_500],
    ["500ms", 500],
    ["30s", 30_000],
    ["1.5s", 1_500],
    ["15m", 900_000],
    ["2h", 7_200_000],
    ["0ms", 0],
  ])("CLI-1: %j is %i ms", (value, ms) => {
    expect(parseDuration(value, "ttl", ANY)).toBe(ms);
  });

  it.each(["", "30", "s", "-1s", "1 s", "1d", "1e3s", "∞", Number.NaN, Number.POSITIVE_INFINITY, null, {}])(
    "CLI-1: %j is refused, naming the field",
    (value) => {
      expect(() => parseDuration(value as string, "grace", ANY)).toThrow(
        expect.objectContaining({ code: "E_INVALID_ARGUMENT", details: { field: "grace" } }),
      );
    },
  );

  it("CLI-1: what is shown reads back as it was", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1e9 }), (ms) => {
        expect(parseDuration(showDuration(ms), "ttl", ANY)).toBe(ms);
      }),
    );
    expect([500, 30_000, 900_000, 7_200_000, 90_000].map(showDuration)).toEqual(["500ms", "30s", "15m", "2h", "90s"]);
  });
});

describe("defaults", () => {
  it("LOCK-5: 30 s, detached 15 min; LOCK-12: 5 s; a write lock", () => {
    expect(parseAcquire("k", {}, NOTHING)).toMatchObject({
      wants: [{ resource: "k", mode: "write", permits: null }],
      leaseMs: 30_000,
      waitMs: 5_000,
      detached: false,
      pid: null,
      metadata: {},
    });
    expect(parseAcquire("k", { detached: true }, { ...NOTHING, ttl: "1h" })).toMatchObject({
      leaseMs: 900_000,
      detached: true,
    });
    expect(parseAcquire("k", { pid: 1 }, NOTHING)).toMatchObject({ leaseMs: 900_000, detached: true, pid: 1 });
    expect(parseAcquire("k", { ttl: "2s", wait: 0 }, { ...NOTHING, ttl: "1h", wait: "1h" })).toMatchObject({
      leaseMs: 2_000,
      waitMs: 0,
    });
    expect(parseAcquire("k", {}, { ...NOTHING, ttl: "1h", wait: "2h" })).toMatchObject({
      leaseMs: 3_600_000,
      waitMs: 7_200_000,
    });
  });

  it("LOCK-12: HOLDFAST_LOCK_TIMEOUT sets the default wait in seconds", () => {
    for (const [text, ms] of [
      ["0", 0],
      ["1.5", 1_500],
      ["120", 120_000],
      ["", undefined],
    ] as const) {
      expect(waitFrom({ HOLDFAST_LOCK_TIMEOUT: text })).toBe(ms);
    }
  });

  it.each(["-1", "soon", "NaN", "Infinity", "86401"])("LOCK-12: HOLDFAST_LOCK_TIMEOUT=%s is E_CONFIG", (text) => {
    const env = { HOLDFAST_LOCK_TIMEOUT: text };
    expect(() => waitFrom(env)).toThrow(expect.objectContaining({ code: "E_CONFIG" }));
  });

  it("openHoldfast reads HOLDFAST_LOCK_TIMEOUT, and an argument is stronger", async () => {
    const memory = { store: "memory:timeout-of-environment", owner: "agent:a" };
    vi.stubEnv("HOLDFAST_LOCK_TIMEOUT", "2");
    await using holdfast = await openHoldfast(memory);
    await using named = await openHoldfast({ ...memory, wait: "3s" });
    expect(holdfast.settings.wait).toEqual({ value: 2_000, source: "environment" });
    expect(named.settings.wait).toEqual({ value: "3s", source: "argument" });
    vi.stubEnv("HOLDFAST_LOCK_TIMEOUT", "soon");
    await expect(openHoldfast(memory)).rejects.toMatchObject({ code: "E_CONFIG" });
  });

  it("LOCK-4: metadata is kept as the JSON it is, apart from what the caller does to it later", () => {
    const metadata = { list: [1], nested: { gone: undefined, at: new Date(0) } };
    const parsed = parseAcquire("k", { metadata }, NOTHING).metadata;
    metadata.list.push(2);
    expect(parsed).toEqual({ list: [1], nested: { at: "1970-01-01T00:00:00.000Z" } });
  });

  it.each([
    [new Date(0)],
    [new URL("https://example.org")],
    [{ toJSON: () => [1] }],
    [{ toJSON: () => null }],
    [{ toJSON() {} }],
  ])("LOCK-4: metadata that is no object as JSON is refused: %o", (metadata) => {
    expect(() => parseAcquire("k", { metadata: metadata as unknown as Record<string, unknown> }, NOTHING)).toThrow(
      expect.objectContaining({ code: "E_INVALID_ARGUMENT", details: { field: "metadata" } }),
    );
    expect(parseAcquire("k", { metadata: { toJSON: () => ({ a: 1 }) } }, NOTHING).metadata).toEqual({ a: 1 });
  });
});

describe("nonsense", () => {
  const refused = (field: string) => expect.objectContaining({ code: "E_INVALID_ARGUMENT", details: { field } });

  it.each(["abc", {}, null, [{}], [null], [undefined], ["k"]])("LOCK-10: %j holds nothing to be within", (within) => {
    const options = { within } as unknown as AcquireOptions;
    expect(() => parseAcquire("k", options, NOTHING)).toThrow(refused("within"));
  });

  it.each(["x", 1, null, {}])("LOCK-4: %j keeps no token", (keepToken) => {
    const options = { keepToken } as unknown as AcquireOptions;
    expect(() => parseAcquire("k", options, NOTHING)).toThrow(refused("keepToken"));
  });

  it.each([5n, Symbol("ann"), Object.create(null), { toJSON: () => 5n }, null, 1, ""])(
    "LOCK-4: an owner who is none is refused, whatever it is",
    (owner) => {
      expect(() => parseOwner(owner as string)).toThrow(refused("owner"));
    },
  );

  it("LIB-1: in place of options it is refused everywhere", async () => {
    const none = null as never;
    await expect(openHoldfast(none)).rejects.toEqual(refused("options"));
    await using holdfast = await openHoldfast({ store: "memory:nonsense-options", heart: "loop" });
    const { audit } = holdfast;
    const calls = [
      () => holdfast.list(none),
      () => holdfast.waits(none),
      () => audit.list(none),
      () => audit.recent(none),
      () => audit.verify(none),
    ];
    for (const call of calls) await expect(call()).rejects.toEqual(refused("options"));
    const breakIt = (options?: unknown) => holdfast.break("k", options as { reason: string });
    for (const options of [undefined, null, {}, "please"])
      await expect(breakIt(options)).rejects.toEqual(refused("reason"));
  });
});
