import { afterEach, describe, expect, it, vi } from "vitest";
import {
  isOtherStart,
  lifeOfProcess,
  pidNamespace,
  startFromDate,
  startTimeOf,
} from "../../../src/platform/machine.js";

/** Higher than any pid the system gives out. */
const NOBODY = 4_194_304;

afterEach(() => vi.restoreAllMocks());

describe("STALE-2: the life of a process, by pid and start time", () => {
  const here = { startTime: startTimeOf(process.pid) ?? "", pidNamespace: pidNamespace() };

  it("is told of this one, and not mistaken for another that has its pid now", () => {
    expect(lifeOfProcess({ pid: process.pid, ...here })).toBe("alive");
    expect(lifeOfProcess({ pid: process.pid, ...here, startTime: "1" })).toBe("dead");
    expect(lifeOfProcess({ pid: NOBODY, ...here })).toBe("dead");
  });

  // kills: hidden-is-not-dead
  it("is unknown where the pid means something else, and where the process is hidden", () => {
    expect(lifeOfProcess({ pid: NOBODY, ...here, pidNamespace: "pid:[1]" })).toBe("unknown");
    vi.spyOn(process, "kill").mockImplementation(() => {
      throw Object.assign(new Error("not yours"), { code: "EPERM" });
    });
    expect(lifeOfProcess({ pid: NOBODY, ...here })).toBe("unknown");
  });
});

describe("the start times of one pid", () => {
  // kills: start-time-grain
  it("are of two processes when they differ by more than two readers can disagree about", () => {
    expect(isOtherStart("1000", "1000")).toBe(false);
    expect(isOtherStart("1000", "1001")).toBe(false);
    expect(isOtherStart("1000", "1002")).toBe(true);
    expect(isOtherStart("1002", "1000")).toBe(true);
  });

  it("prove nothing where one of them is unknown", () => {
    expect(isOtherStart("", "1000")).toBe(false);
    expect(isOtherStart("1000", "")).toBe(false);
    expect(startFromDate("jeu. 19 nov. 04:41:04 2026")).toBe("");
    expect(startFromDate("Thu Nov 19 04:41:04 2026")).toBe("1795063264");
  });
});

describe("the start time of a process", () => {
  // kills: start-time-shift
  it("is by the kernel's clock, also to a reader in a time namespace", async () => {
    const here = Number(startTimeOf(process.pid));
    vi.resetModules();
    vi.doMock("../../../src/platform/boot.js", async (original) => ({
      ...(await original<typeof import("../../../src/platform/boot.js")>()),
      readClockShift: () => ({ monotonicMs: 0, boottimeMs: 5_004 }),
    }));
    const shifted = await import("../../../src/platform/machine.js");
    vi.doUnmock("../../../src/platform/boot.js");
    const there = Number(shifted.startTimeOf(process.pid));
    expect(here - there).toBeGreaterThanOrEqual(500);
    expect(here - there).toBeLessThanOrEqual(501);
  });
});
