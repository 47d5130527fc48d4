// One process in a chain of holders: it takes the key, tells when it was in, and holds on until it is killed.
import { serve } from "../serve.mjs";
import { sharedMs } from "../shared-clock.mjs";

const kept = [];

serve({
  async inherit(contestant, key) {
    kept.push(await contestant.take(key));
    return sharedMs();
  },
});
