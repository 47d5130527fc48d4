// Holds a key of the store in argv, says what becomes of the lease, and tries to commit at each line of its input.
import { openHoldfast } from "../../../dist/index.js";

const say = (message) => console.log(JSON.stringify(message));
const holdfast = await openHoldfast({ store: process.argv[2], owner: "agent:holder" });
const lease = await holdfast.acquire("k", { ttl: "60s" });
lease.signal.addEventListener("abort", () =>
  say({ lost: lease.signal.reason.code, details: lease.signal.reason.details }),
);
process.stdin.on("data", async () => {
  try {
    await lease.commit(() => undefined);
    say({ commit: "done" });
  } catch ({ code, message }) {
    say({ commit: code, message });
  }
});
say({ held: lease.fencingToken });
