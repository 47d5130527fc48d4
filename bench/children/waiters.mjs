// A process in which many wait for one key, and get it one after the other.
import { serve } from "../serve.mjs";
import { median } from "../statistics.mjs";

const MEASURED = 10;

serve({
  /** The median time in milliseconds from a release to the next one in, of the first few while so many are in line. */
  async handOver(contestant, { key, waiters }) {
    const held = await contestant.take(key);
    const gaps = [];
    let leftAt = 0;
    const inLine = Array.from({ length: waiters }, async () => {
      const mine = await contestant.take(key);
      gaps.push(performance.now() - leftAt);
      leftAt = performance.now();
      await mine.release();
    });
    while ((await contestant.waiting(key)) < waiters) await new Promise(setImmediate);
    leftAt = performance.now();
    await held.release();
    await Promise.all(inLine);
    return median(gaps.slice(0, MEASURED));
  },
});
