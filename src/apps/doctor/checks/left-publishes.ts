/** Finds publishes that crashed, and the files that they left on the disk. */

import { settleAll, unfinishedIn } from "../../../features/publish/record/unfinished.js";
import { forgottenIn } from "../../../features/publish/record/unrecorded-stages.js";
import { removeTree } from "../../../files/remove-tree.js";
import { type Check, type Diagnosis, type Surgery, storeOf } from "../check.js";

const REMOVED_BY_NEXT = [
  "Nothing needs to be done: the next publish there removes it. `holdfast doctor --repair` does it now.",
];

export const leftPublishes: Check = {
  name: "publishes",
  async look(patient): Promise<readonly Diagnosis[]> {
    const store = storeOf(patient);
    if (store === null) return [];
    const found: Diagnosis[] = [];
    for await (const { kind, manifest } of unfinishedIn(store)) {
      const { target, owner, tmpPath } = manifest;
      found.push(
        kind === "publish_left"
          ? {
              code: "PUBLISH_LEFT",
              message: `a publish to ${target} by ${owner} was never finished`,
              next: [
                "Nothing needs to be done: the next lock on it settles it. `holdfast doctor --repair` does it now.",
              ],
              repair,
            }
          : {
              code: "STAGE_LEFT",
              message: `${tmpPath} is left of a publish to ${target} that has ended`,
              next: REMOVED_BY_NEXT,
              repair,
            },
      );
    }
    // mutant: doctor-forgotten: } of forgottenIn(store)) → } of store.url === "" ? forgottenIn(store) : [])
    for await (const { target, stage } of forgottenIn(store))
      found.push({
        code: "STAGE_LEFT",
        message: `${stage} is left of a publish to ${target} whose record a power cut took`,
        next: REMOVED_BY_NEXT,
        repair: removeForgotten,
      });
    return found;
  },
};

/** Looked for once more: what was found before was found without the store. */
async function removeForgotten({ store }: Surgery): Promise<string> {
  const removed: string[] = [];
  for await (const { stage } of forgottenIn(store)) {
    await removeTree(stage);
    removed.push(stage);
  }
  return removed.length === 0 ? "removed already" : `removed ${removed.join(", ")}`;
}

async function repair({ store, party }: Surgery): Promise<string> {
  const settled = await settleAll(store, party);
  return settled.length === 0 ? "settled already" : `settled ${settled.map(({ target }) => target).join(", ")}`;
}
