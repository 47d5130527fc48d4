// One process that increments a counter many times.
import { serve } from "../serve.mjs";

serve({
  async increment(contestant, { times }) {
    for (let time = 0; time < times; time += 1) await contestant.increment();
  },
  value: (contestant) => contestant.value(),
});
