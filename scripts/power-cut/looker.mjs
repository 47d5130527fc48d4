// Looks at FOLDER after the power was cut, takes the lock, publishes once more, and says what is wrong, as JSON. As far as
// this process can tell, the machine has been started just now.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import os from "node:os";
import { join } from "node:path";

os.uptime = () => 0;
syncBuiltinESMExports();
const { openHoldfast } = await import("../../dist/index.js");
const { listManifests, publish, verifyManifests } = await import("../../dist/publish.js");

const [folder, store, told] = process.argv.slice(2);
const acknowledged = Number(told);
const target = join(folder, "out");
const problems = [];
const version = existsSync(target) ? Number(readFileSync(join(target, "version"), "utf8")) : 0;
if (version < acknowledged) problems.push(`version ${version} is there, ${acknowledged} was acknowledged`);
for (let at = 0; at < 5; at += 1)
  if (readFileSync(join(target, `d${at}/page`), "utf8") !== `${version} `.repeat(200))
    problems.push(`page ${at} is torn`);
const holdfast = await openHoldfast({ store, owner: "agent:next", wait: "30s" });
const lease = await holdfast.acquire("site");
if ((await listManifests(holdfast, { state: "pending" })).length > 0) problems.push("a manifest is still pending");
const { ok, bad } = await verifyManifests(holdfast);
if (!ok) problems.push(`the manifest does not agree: ${JSON.stringify(bad.slice(0, 3))}`);
await publish(lease, target, (stage) => stage.write("version", "0"));
await holdfast.close();
const left = readdirSync(join(folder, "tmp"));
if (left.length > 0) problems.push(`left in tmp: ${left.join(", ")}`);
process.stdout.write(JSON.stringify({ version, problems }));
