import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const LIBRARY = new URL("../../../dist/index.js", import.meta.url).href;

/** What a fresh process that runs this prints as JSON. */
function inFreshProcess(script: string): unknown {
  const cwd = fileURLToPath(new URL("../../..", import.meta.url));
  return JSON.parse(execFileSync(process.execPath, ["--input-type=module", "-e", script], { cwd, encoding: "utf8" }));
}

const STATE = "JSON.stringify([process.eventNames().map(String).sort(), process.getActiveResourcesInfo().sort()])";

describe("the package", () => {
  it("LIB-1: importing it installs nothing: no handlers, no timers, no threads", () => {
    const [before, after] = inFreshProcess(`
      const before = ${STATE};
      await import("${LIBRARY}");
      await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
      console.log(JSON.stringify([before, ${STATE}]));`) as [string, string];
    expect(after).toBe(before);
  });

  it("LIB-1: using it installs no signal handlers, and a program that closes it ends by itself", () => {
    const [before, during, result] = inFreshProcess(`
      const { openHoldfast } = await import("${LIBRARY}");
      const before = process.eventNames().map(String).sort();
      const holdfast = await openHoldfast({ store: "memory:import", owner: "agent:a" });
      const lease = await holdfast.acquire("k");
      const during = process.eventNames().map(String).sort();
      await lease[Symbol.asyncDispose]();
      await holdfast[Symbol.asyncDispose]();
      console.log(JSON.stringify([before, during, lease.state]));`) as [string[], string[], string];
    expect(during).toEqual(before);
    expect(result).toBe("released");
  });
});
