/** Real timers: nothing ends before its time, and nothing is forgotten. */
import { describe, expect, it } from "vitest";
import { type Moment, SharedTimer } from "../../../src/base/shared-timer.js";
import { sleep } from "../../../src/base/sleep.js";
import { comesOff } from "../../fixtures/succeeds-once.fixture.js";

class Told implements Moment {
  at: number;
  toldAt: number | null = null;

  constructor(afterMs: number) {
    this.at = performance.now() + afterMs;
  }

  leftMs(): number {
    return this.at - performance.now();
  }

  onTime(): void {
    this.toldAt = performance.now();
  }
}

async function untilTold(...all: readonly Told[]): Promise<void> {
  while (all.some(({ toldAt }) => toldAt === null)) await sleep(5);
}

describe("a timer for many moments", () => {
  // kills: endings-go-on
  it("LOCK-6: each is told when its own time is up, in whatever order they came", async () => {
    const endings = new SharedTimer();
    const all = [60, 20, 90, 40].map((ms) => new Told(ms));
    for (const ending of all) endings.watch(ending);
    await untilTold(...all);
    for (const { at, toldAt } of all) expect(toldAt).toBeGreaterThanOrEqual(at);
  });

  it("LOCK-6: one that has moved is told at its new time, later or sooner", async () => {
    await comesOff(async () => {
      const endings = new SharedTimer();
      const [later, sooner] = [new Told(20), new Told(600_000)];
      endings.watch(later);
      endings.watch(sooner);
      later.at += 80;
      sooner.at = performance.now() + 40;
      endings.watch(sooner);
      await untilTold(sooner);
      const isFirst = later.toldAt === null;
      await untilTold(later);
      for (const { at, toldAt } of [later, sooner]) expect(toldAt).toBeGreaterThanOrEqual(at);
      return isFirst;
    });
  });

  it("LOCK-6: one that was given back is not told, and hides nobody behind it", async () => {
    const endings = new SharedTimer();
    const [gone, next] = [new Told(20), new Told(50)];
    endings.watch(gone);
    endings.watch(next);
    endings.forget(gone);
    await untilTold(next);
    expect(gone.toldAt).toBeNull();
  });

  it("LOCK-6: one that is given back at the end of another, at the same moment, is not told", async () => {
    const endings = new SharedTimer();
    const [first, second] = [new Told(10), new Told(10)];
    first.onTime = () => {
      first.toldAt = performance.now();
      endings.forget(second);
    };
    endings.watch(first);
    endings.watch(second);
    await untilTold(first);
    await sleep(30);
    expect(second.toldAt).toBeNull();
  });

  // kills: looks-at-once
  it("LOCK-12: of very many at once each is told, and the program gets on in between", async () => {
    const timer = new SharedTimer();
    const all = Array.from({ length: 200 }, () => new Told(5));
    for (const moment of all) timer.watch(moment);
    const countTold = () => all.filter(({ toldAt }) => toldAt !== null).length;
    const steps: number[] = [];
    for (let before = 0; before < all.length; before = countTold()) {
      await new Promise(setImmediate);
      steps.push(countTold() - before);
    }
    expect(Math.max(...steps)).toBeLessThanOrEqual(20);
  });

  it("LOCK-12: all are told at once when their workplace closes", () => {
    const timer = new SharedTimer({ keepsAlive: true });
    const all = [new Told(600_000), new Told(600_000)];
    for (const moment of all) timer.watch(moment);
    timer.ringNow();
    expect(all.every(({ toldAt }) => toldAt !== null)).toBe(true);
    timer.close();
  });

  it("LOCK-6: nothing is told after the workplace has closed", async () => {
    const endings = new SharedTimer();
    const ending = new Told(10);
    endings.watch(ending);
    endings.close();
    await sleep(50);
    expect(ending.toldAt).toBeNull();
  });
});
