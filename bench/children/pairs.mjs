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
  /** Pairs per second of so many clients at once, each with a key of its own. */
  async rateOfMany(contestant, { keys, clients, ms }) {
    const start = performance.now();
    let pairs = 0;
    const work = async (_, at) => {
      for (; performance.now() - start < ms; pairs += 1) await repeat(contestant, { keys: `${keys}-${at}`, count: 1 });
    };
    await Promise.all(Array.from({ length: clients }, work));
    return (pairs * 1000) / (performance.now() - start);
  },
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
