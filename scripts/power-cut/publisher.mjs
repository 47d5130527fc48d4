// Publishes version after version into FOLDER and says each number once it is told that it is published.
import { join } from "node:path";
import { openHoldfast } from "../../dist/index.js";
import { publish } from "../../dist/publish.js";

const [folder, store, from] = process.argv.slice(2);
const holdfast = await openHoldfast({ store, owner: "agent:publisher", ttl: "2s", wait: "20s" });
for (let version = Number(from); ; version += 1) {
  await publish({ holdfast, key: "site" }, join(folder, "out"), async (stage) => {
    await stage.write("version", String(version));
    for (let at = 0; at < 5; at += 1) await stage.write(`d${at}/page`, `${version} `.repeat(200));
  });
  process.stdout.write(`${version}\n`);
}
