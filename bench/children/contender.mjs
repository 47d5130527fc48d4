// One of many processes that want the same key. It notes when it was in and what it cost; sorting that out is left to
// the benchmark, so that the noting disturbs nobody.
import { setTimeout as sleep } from "node:timers/promises";
import { serve } from "../serve.mjs";
import { sharedMs } from "../shared-clock.mjs";

serve({
  /** What is measured is a process that has been at work for a while, not one whose code is still being compiled. */
  async warmUp(contestant, ms) {
    const until = sharedMs() + ms;
    while (sharedMs() < until) {
      const held = await contestant.take(`warm-up-${process.pid}`);
      await held.release();
    }
  },
  /** Takes, holds and releases until the end of the window; measures CPU from its beginning to its end. */
  async contend(contestant, { key, holdMs, from, until }) {
    const cpuMs = cpuWithin(from, until);
    const sections = [];
    while (sharedMs() < until) {
      const held = await contestant.take(key);
      const enteredAt = sharedMs();
      await sleep(holdMs);
      const leftAt = sharedMs();
      await held.release();
      sections.push({ enteredAt, leftAt });
    }
    return { sections, cpuMs: await cpuMs };
  },
});

async function cpuWithin(from, until) {
  await sleep(from - sharedMs());
  const before = process.cpuUsage();
  await sleep(until - sharedMs());
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
