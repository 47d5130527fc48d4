/** Finds publishes that crashed, and the files that they left on the disk. */

import { sleep } from "../../../base/sleep.js";
import {
  type Records,
  STANDING,
  settleAll,
  type Unfinished,
  unfinishedIn,
} from "../../../features/publish/record/unfinished.js";
import { forgottenIn } from "../../../features/publish/record/unrecorded-stages.js";
import { removeTree } from "../../../files/remove-tree.js";
import { type Check, type Diagnosis, type Surgery, storeOf } from "../check.js";

/** A publish needs less from its rename to its record. */
const OPEN_MS = 1_000;

const SETTLED_BY_NEXT =
  "Nothing needs to be done: the next lock on it settles it. `holdfast doctor --repair` does it now.";
const SETTLED_LATER =
  "Look again when its process is dead or its lease is over: then the next lock on it, or `holdfast doctor --repair`, settles it.";
const REMOVED_BY_NEXT = [
  "Nothing needs to be done: the next publish there removes it. `holdfast doctor --repair` does it now.",
];

export const leftPublishes: Check = {
  name: "publishes",
  async look(patient): Promise<readonly Diagnosis[]> {
    const store = storeOf(patient);
    if (store === null) return [];
    const found: Diagnosis[] = [];
    for (const each of await unfinishedFor(OPEN_MS, {
      manifests: store.manifests,
      reader: store.reader,
      clock: patient.clock,
    }))
      found.push(diagnosisOf(each));
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

/** A publish is in the state `publish_open` for an instant also when all is well: one that counts is still so later. */
async function unfinishedFor(ms: number, records: Records): Promise<readonly Unfinished[]> {
  const first = await allIn(records);
  if (!first.some(isOpen)) return first;
  await sleep(ms);
  const again = await allIn(records);
  return again.filter((each) => !isOpen(each) || first.some(({ manifest }) => manifest.id === each.manifest.id));
}

async function allIn(records: Records): Promise<readonly Unfinished[]> {
  const all: Unfinished[] = [];
  for await (const each of unfinishedIn(records)) all.push(each);
  return all;
}

function isOpen({ kind }: Unfinished): boolean {
  return kind === "publish_open";
}

function diagnosisOf({ kind, manifest, content }: Unfinished): Diagnosis {
  const { target, owner, tmpPath } = manifest;
  if (kind === "stage_left" || content === null)
    return {
      code: "STAGE_LEFT",
      message: `${tmpPath} is left of a publish to ${target} that has ended`,
      next: REMOVED_BY_NEXT,
      repair,
    };
  const message = `a publish to ${target} by ${owner} was not finished: ${STANDING[content]}`;
  if (kind === "publish_open")
    return { code: "PUBLISH_LEFT", message: `${message}, and its lock is still held`, next: [SETTLED_LATER] };
  return { code: "PUBLISH_LEFT", message, next: [SETTLED_BY_NEXT], repair };
}

async function repair({ store, party, clock }: Surgery): Promise<string> {
  const settled = await settleAll({ manifests: store.manifests, reader: store.reader, clock }, party);
  return settled.length === 0 ? "settled already" : `settled ${settled.map(({ target }) => target).join(", ")}`;
}
