/** Real timers: what counts is in which order things come to an end, and that nothing is forgotten. */
import { describe, expect, it } from "vitest";
import { type Ending, Endings } from "../../src/lease/endings.js";
import { comesOff } from "../comes-off.js";

function endingAt(ms: number, ended: number[]): Ending & { at: number } {
  const ending = {
    at: performance.now() + ms,
    leftMs: () => ending.at - performance.now(),
    onEnd: () => void ended.push(ms),
  };
  return ending;
}

const after = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe("the ends of leases", () => {
  it("LOCK-6: each is told when its own time is up, in whatever order they came", async () => {
    const ended: number[] = [];
    const endings = new Endings();
    for (const ms of [60, 20, 90, 40]) endings.await(endingAt(ms, ended));
    await after(150);
    expect(ended).toEqual([20, 40, 60, 90]);
  });

  it("LOCK-6: one that has moved is told at its new time, later or sooner, and only then", async () => {
    await comesOff(async () => {
      const ended: number[] = [];
      const endings = new Endings();
      const [later, sooner] = [endingAt(20, ended), endingAt(10_000, ended)];
      endings.await(later);
      endings.await(sooner);
      later.at += 80;
      sooner.at = performance.now() + 40;
      endings.await(sooner);
      await after(60);
      const before = [...ended];
      await after(90);
      expect(ended).toEqual([10_000, 20]);
      return before.length === 1;
    });
  });

  it("LOCK-6: one that was given back is not told, and hides nobody behind it", async () => {
    const ended: number[] = [];
    const endings = new Endings();
    const gone = endingAt(20, ended);
    endings.await(gone);
    endings.await(endingAt(50, ended));
    endings.forget(gone);
    await after(120);
    expect(ended).toEqual([50]);
  });
});
