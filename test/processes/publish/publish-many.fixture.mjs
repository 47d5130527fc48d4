// Publishes one version after the other, waiting for the lock each time: STORE TARGET NAME COUNT. Says each on stdout.
import { openHoldfast } from "../../../dist/index.js";
import { publish } from "../../../dist/publish.js";

const [store, target, name, count] = process.argv.slice(2);
const holdfast = await openHoldfast({ store, owner: `agent:${name}`, heart: "loop", wait: "5m" });
for (let at = 1; at <= Number(count); at += 1) {
  const version = `${name}-${at}`;
  const { manifest } = await publish({ holdfast, key: "site" }, target, async (stage) => {
    for (const file of ["version", "sub/page", "sub/deep/page"]) await stage.write(file, version);
  });
  process.stdout.write(`${JSON.stringify({ version, id: manifest.id })}\n`);
}
await holdfast.close();
