// One process that takes and releases, over and over, with nobody in its way.
import { serve } from "../serve.mjs";
import { median } from "../statistics.mjs";

/** Pairs timed together: so few that whatever else the machine does falls into a few batches only. */
const BATCH = 5;

serve({
  /** Pairs per second in the median batch of about this time. */
  async rate(contestant, { keys, ms }) {
    const times = [];
    for (let left = ms; left > 0; left -= times.at(-1)) {
      const start = performance.now();
      await repeat(contestant, { keys, count: BATCH });
      times.push(performance.now() - start);
    }
    return (BATCH * 1000) / median(times);
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
