// A process that holds many locks nobody else wants, for as long as it lives.
import { serve } from "../serve.mjs";

const AT_ONCE = 64;

serve({
  /** Takes so many trees of their own, and so many keys below one tree. */
  async hold(contestant, { tree, others, siblings }) {
    for (let at = 0; at < others; at += 1) await contestant.take(`other-${at}`);
    for (let at = 0; at < siblings; at += AT_ONCE) {
      const count = Math.min(AT_ONCE, siblings - at);
      await contestant.take(Array.from({ length: count }, (_, offset) => `${tree}/${at + offset}`));
    }
  },
});
