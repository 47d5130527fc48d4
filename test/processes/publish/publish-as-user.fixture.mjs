// Publishes as an ordinary user, also when it was started by root: STORE TARGET. Says on stdout how it went.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openHoldfast } from "../../../dist/index.js";
import { publish } from "../../../dist/publish.js";

const NOBODY = 65_534;
const [store, target] = process.argv.slice(2);
if (process.getuid() === 0) {
  // What is loaded when it is first needed may lie where only root can read.
  const rehearsal = mkdtempSync(join(tmpdir(), "holdfast-rehearsal-"));
  await (await openHoldfast({ store: `sqlite:${rehearsal}/h.db`, owner: "agent:ordinary", heart: "loop" })).close();
  rmSync(rehearsal, { recursive: true });
  process.setgroups([]);
  process.setgid(NOBODY);
  process.setuid(NOBODY);
}
const holdfast = await openHoldfast({ store, owner: "agent:ordinary", heart: "loop", wait: 0 });
let hasFilled = false;
const told = await publish({ holdfast, key: "site" }, target, async (stage) => {
  hasFilled = true;
  await stage.write("version", "new");
}).then(
  () => ({ ok: true }),
  ({ code, message }) => ({ ok: false, code, message }),
);
await holdfast.close();
process.stdout.write(`${JSON.stringify({ ...told, hasFilled })}\n`);
