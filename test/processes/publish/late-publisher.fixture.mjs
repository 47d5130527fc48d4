// Publishes a folder when it is told to go on: STORE TARGET. Says `staged`, waits for a line on stdin, then says on stdout how
// it ended. Its lease is long; whoever starts it decides what becomes of it.
import { openHoldfast } from "../../../dist/index.js";
import { publish } from "../../../dist/publish.js";

const [store, target] = process.argv.slice(2);
const holdfast = await openHoldfast({ store, owner: "agent:late", heart: "loop", wait: 0 });
const told = await publish(
  { holdfast, key: "site" },
  target,
  async (stage) => {
    await stage.write("version", "late");
    process.stdout.write("staged\n");
    await new Promise((resolve) => process.stdin.once("data", resolve));
  },
  { ttl: "24h" },
).then(
  () => ({ ok: true }),
  ({ code, message }) => ({ ok: false, code, message }),
);
process.stdout.write(`${JSON.stringify(told)}\n`, () => process.exit(0));
