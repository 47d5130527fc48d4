// Fills a worktree with COUNT small files, takes a snapshot of it and restores it to a new folder: ROOT COUNT. Says on stdout
// how much memory it had at most by then, in MiB.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openHoldfast } from "../../../dist/index.js";
import { openWorktrees } from "../../../dist/worktree.js";

const [root, count] = process.argv.slice(2);
const PER_FOLDER = 200;
for (let at = 0; at < Number(count); at += 1) {
  const folder = join(root, "main", `d${Math.floor(at / PER_FOLDER)}`);
  if (at % PER_FOLDER === 0) mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `file-${at}`), `content ${at}`);
}
const peak = () => Math.round(process.resourceUsage().maxRSS / 1024);
const holdfast = await openHoldfast({ root, owner: "agent:one", heart: "loop" });
const worktrees = await openWorktrees(holdfast, { root });
await worktrees.trees.add("main");
const { snapshot_id: id } = await worktrees.take("main");
const taken = peak();
await worktrees.take("main");
const again = peak();
await worktrees.restore.toNew(id, join(root, "copy"));
process.stdout.write(`${JSON.stringify({ taken, again, restored: peak() })}\n`);
await holdfast.close();
