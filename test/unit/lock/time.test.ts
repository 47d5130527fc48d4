import { describe, expect, it } from "vitest";
import { isoTime, remainingMs, remainingSeconds } from "../../../src/lock/time.js";
import { fc } from "../../fixtures/fast-check.fixture.js";
import { moment } from "../../fixtures/lock/samples.fixture.js";

describe("what is left of a duration", () => {
  // kills: wall-clock
  it("STALE-8: on one boot only the clock since boot counts, whatever the wall clock does", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1e9 }), fc.integer({ min: 0, max: 1e9 }), fc.integer(), (a, b, jump) => {
        const now = moment(b, { wallMs: 1_000_000 + b + jump });
        expect(remainingMs(moment(a), 500, now)).toBe(a + 500 - b);
      }),
    );
  });

  it("STALE-8: across a restart the wall clock counts, with a margin in the holder's favour", () => {
    const stamp = moment(5_000);
    const later = (wallMs: number) => moment(10, { wallMs, bootId: "the next boot" });
    expect(remainingMs(stamp, 1_000, later(stamp.wallMs + 1_000))).toBe(2_000);
    expect(remainingMs(stamp, 1_000, later(stamp.wallMs + 3_000))).toBe(0);
  });

  // kills: boot-unknown-is-one
  it("two unknown boots are not one: the wall clock counts", () => {
    const stamp = moment(5_000, { bootId: "" });
    expect(remainingMs(stamp, 1_000, moment(0, { bootId: "", wallMs: stamp.wallMs }))).toBe(3_000);
  });

  it("LOCK-14: in whole seconds, rounded up and never negative", () => {
    expect(remainingSeconds(moment(0), 1_500, moment(0))).toBe(2);
    expect(remainingSeconds(moment(0), 1_500, moment(501))).toBe(1);
    expect(remainingSeconds(moment(0), 1_500, moment(1_500))).toBe(0);
    expect(remainingSeconds(moment(0), 1_500, moment(99_999))).toBe(0);
  });

  it("LOCK-4: times are ISO 8601 in UTC", () => {
    expect(isoTime(0)).toBe("1970-01-01T00:00:00.000Z");
    for (const ms of [1, 1, 2_000, 1, 0]) expect(isoTime(ms)).toBe(new Date(ms).toISOString());
  });
});
