import { describe, expect, it } from "vitest";
import { runGateCommand } from "../../../src/features/board/gates/run-gate.js";

describe("BOARD-4: the command of a gate", () => {
  // kills: gate-in-time
  it("that has ended in time is not late, also when its time is up while somebody keeps its output open", async () => {
    const options = { timeoutMs: 400, signal: undefined };
    const line = { program: "sh", args: ["-c", "setsid sleep 2 & sleep 0.3"], cwd: "/", env: process.env };
    let isLate = true;
    // On a busy machine one may be late indeed.
    for (let tries = 0; isLate && tries < 20; tries += 1) isLate = (await runGateCommand(line, options)).timedOut;
    expect(isLate).toBe(false);
  });
});
