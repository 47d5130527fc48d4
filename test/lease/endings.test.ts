/** Real timers: nothing ends before its time, and nothing is forgotten. */
import { describe, expect, it } from "vitest";
import { type Ending, Endings } from "../../src/lease/endings.js";
import { sleep } from "../../src/support/sleep.js";
import { comesOff } from "../comes-off.js";

class Told implements Ending {
  at: number;
  toldAt: number | null = null;

  constructor(afterMs: number) {
    this.at = performance.now() + afterMs;
  }

  leftMs(): number {
    return this.at - performance.now();
  }

  onEnd(): void {
    this.toldAt = performance.now();
  }
}

async function untilTold(...all: readonly Told[]): Promise<void> {
  while (all.some(({ toldAt }) => toldAt === null)) await sleep(5);
}

describe("the ends of leases", () => {
  it("LOCK-6: each is told when its own time is up, in whatever order they came", async () => {
    const endings = new Endings();
    const all = [60, 20, 90, 40].map((ms) => new Told(ms));
    for (const ending of all) endings.await(ending);
    await untilTold(...all);
    for (const { at, toldAt } of all) expect(toldAt).toBeGreaterThanOrEqual(at);
  });

  it("LOCK-6: one that has moved is told at its new time, later or sooner", async () => {
    await comesOff(async () => {
      const endings = new Endings();
      const [later, sooner] = [new Told(20), new Told(600_000)];
      endings.await(later);
      endings.await(sooner);
      later.at += 80;
      sooner.at = performance.now() + 40;
      endings.await(sooner);
      await untilTold(sooner);
      const isFirst = later.toldAt === null;
      await untilTold(later);
      for (const { at, toldAt } of [later, sooner]) expect(toldAt).toBeGreaterThanOrEqual(at);
      return isFirst;
    });
  });

  it("LOCK-6: one that was given back is not told, and hides nobody behind it", async () => {
    const endings = new Endings();
    const [gone, next] = [new Told(20), new Told(50)];
    endings.await(gone);
    endings.await(next);
    endings.forget(gone);
    await untilTold(next);
    expect(gone.toldAt).toBeNull();
  });
});
