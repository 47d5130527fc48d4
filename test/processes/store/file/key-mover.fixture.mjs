// Takes one key below the tree after the other, says which, and lets others come that drive it out of tree.json.
import { writeFileSync } from "node:fs";
import { openHoldfast } from "../../../../dist/index.js";

const [store, tree, told] = process.argv.slice(2);
const holdfast = await openHoldfast({ store, owner: "agent:mover" });
let last = null;
for (let turn = 1; ; turn += 1) {
  const next = await holdfast.acquire(`${tree}/moving/${turn}`);
  writeFileSync(told, String(turn));
  await last?.release();
  last = next;
  const crowd = await holdfast.acquire(["p", "q", "r", "s"].map((name) => `${tree}/crowd/${name}`));
  await crowd.release();
}
