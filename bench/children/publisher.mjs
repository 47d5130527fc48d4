// Publishes trees of small files, a thousand to a folder, with Holdfast or by the bare script.
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { publish } from "../../dist/publish.js";
import { serve } from "../serve.mjs";

const PER_FOLDER = 1_000;
/** So that what the disk still has to do for one is not there when it is the other's turn. */
const REST_MS = 3;
let published = 0;

function nameOf(at) {
  return join(`d${Math.floor(at / PER_FOLDER)}`, `f${at}`);
}

/** What one would write without a library: every file synced, every folder synced, two renames, both parents synced. */
function bare(folder, files, content) {
  const target = join(folder, "out");
  const tmp = join(folder, "tmp");
  const stage = join(tmp, String(published));
  mkdirSync(stage, { recursive: true });
  for (let at = 0; at < files; at += 1) {
    if (at % PER_FOLDER === 0) mkdirSync(join(stage, `d${at / PER_FOLDER}`));
    const fd = openSync(join(stage, nameOf(at)), "w");
    writeSync(fd, content);
    fsyncSync(fd);
    closeSync(fd);
  }
  for (let at = 0; at < files; at += PER_FOLDER) sync(join(stage, `d${at / PER_FOLDER}`));
  sync(stage);
  const old = join(tmp, `${published}.old`);
  if (published > 0) renameSync(target, old);
  renameSync(stage, target);
  sync(tmp);
  sync(folder);
  rmSync(old, { recursive: true, force: true });
}

function sync(folder) {
  const fd = openSync(folder, "r");
  fsyncSync(fd);
  closeSync(fd);
}

let lease = null;

async function holdfast(publisher, folder, files, content) {
  await publish(publisher, join(folder, "out"), async (stage) => {
    for (let at = 0; at < files; at += 1) await stage.write(nameOf(at), content);
  });
}

serve({
  async publish({ client, folder }, { files, bytes, takesLock = false }) {
    const content = Buffer.alloc(bytes, published);
    if (client !== null && !takesLock) lease ??= await client.acquire("out");
    const startedAt = performance.now();
    if (client === null) bare(folder, files, content);
    else await holdfast(lease ?? { holdfast: client, key: "out" }, folder, files, content);
    const took = performance.now() - startedAt;
    published += 1;
    await sleep(REST_MS);
    return took;
  },
  usage: () => process.resourceUsage(),
});
