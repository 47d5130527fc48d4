import { afterEach, describe, expect, it, vi } from "vitest";
import { lifeOfProcess, pidNamespace, startTimeOf } from "../../../src/platform/machine.js";

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
