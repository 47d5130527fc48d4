// One process that takes and releases, over and over, with nobody in its way.
import { serve } from "../serve.mjs";
import { median } from "../statistics.mjs";

/** The clock is read once in so many pairs. */
const BATCH = 20;

serve({
  /** Pairs per second over about this time. */
  async rate(contestant, { keys, ms }) {
    const start = performance.now();
    for (let pairs = 0; ; ) {
      await repeat(contestant, { keys, count: BATCH });
      pairs += BATCH;
      const passed = performance.now() - start;
      if (passed >= ms) return (pairs * 1000) / passed;
    }
  },
  repeat,
  /** The median time of an acquire in milliseconds, over so many pairs. */
  async latency(contestant, { keys, count }) {
    const times = [];
    for (let pairs = 0; pairs < count; pairs += 1) {
      const start = performance.now();
      const held = await contestant.take(keys);
      times.push(performance.now() - start);
      await held.release();
    }
    return median(times);
  },
});

async function repeat(contestant, { keys, count }) {
  for (let pairs = 0; pairs < count; pairs += 1) {
    const held = await contestant.take(keys);
    await held.release();
  }
}
