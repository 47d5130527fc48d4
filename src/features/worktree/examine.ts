/**
 * Answers the doctor about worktrees and snapshots: finds what a crash or tampering left, and removes what is safe to
 * remove.
 */
import { lstatSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { HoldfastError, isHoldfastError } from "../../base/errors.js";
import type { Holdfast } from "../../client/holdfast.js";
import { removeQuietly } from "../../files/durable-file.js";
import { isThere } from "../../platform/look-up.js";
import { claimObjects, tryMark } from "./collect/pins.js";
import type { Layout } from "./layout.js";
import { loadIndexParts } from "./objects/load-index.js";
import { createObjectIndex } from "./objects/object-index.js";
import { listWorktrees, payloadOf } from "./registry.js";
import { settle } from "./restore/in-place.js";
import { journalOf, unsettled } from "./restore/journal.js";
import { leftByRestores } from "./restore/to-new.js";
import { manifestOf } from "./snapshot/compare.js";
import { unfinishedIn, untoldIn } from "./snapshot/late-entries.js";
import { allIds, folderOf, getSnapshot, objectFolders } from "./snapshot/snapshots.js";
import { type Committer, type Site, tidyStaging } from "./snapshot/take-snapshot.js";
import { checkRecords } from "./snapshot/verify.js";
import { sharedCommitter, withRight } from "./worktree-lock.js";

export interface Fault {
  readonly kind: "orphan" | "interrupted" | "partial" | "broken_chain" | "missing_part" | "missing_payload";
  readonly path: string;
  /** The worktree whose folder is gone. */
  readonly worktree?: string;
  readonly problem: string;
  /** What is safe to tidy up. */
  readonly repairable: boolean;
}

/** Reads descriptors, manifests and indexes, not the contents: that is `verify`. Takes no lock. */
export async function checkSnapshots(layout: Layout): Promise<readonly Fault[]> {
  if (!isThere(layout.base)) return [];
  return [...(await orphans(layout)), ...interrupted(layout), ...snapshots(layout), ...worktrees(layout)];
}

/** What is left after tidying. */
export async function repairSnapshots(site: Site, holdfast: Holdfast): Promise<readonly Fault[]> {
  const { layout } = site;
  for (const name of unsettled(layout)) if (!isUnderWay(layout, name)) await settle(site, holdfast, name);
  await tellAll(site, holdfast);
  await tidyStaging(layout, null);
  await removeLeftRestores(layout);
  return checkSnapshots(layout);
}

/** Whose worktree is in use is told of by the next snapshot there. */
async function tellAll({ layout }: Site, holdfast: Holdfast): Promise<void> {
  for (const info of untoldIn(layout)) {
    const tidy = (committer: Committer) => tidyStaging(layout, { name: info.worktree_id, committer });
    try {
      if (info.worktree_mode === "shared") await tidy(sharedCommitter(holdfast, info));
      else await withRight(holdfast, info, {}, tidy);
    } catch (error) {
      if (!isHoldfastError(error, "E_LOCK_CONFLICT")) throw error;
    }
  }
}

/** While somebody uses objects, what is in the making cannot be told from what was left. */
async function whenQuiet<T>(layout: Layout, work: () => T): Promise<T | null> {
  if (!isThere(layout.use)) return work(); // Nobody ever has: and looking makes no file.
  let claim: Disposable;
  try {
    claim = await claimObjects(layout, 0);
  } catch (error) {
    if (isHoldfastError(error, "E_LOCK_CONFLICT")) return null;
    throw error;
  }
  using _claim = claim;
  return work();
}

async function orphans(layout: Layout): Promise<Fault[]> {
  const orphan = (path: string, problem: string): Fault => ({ kind: "orphan", path, problem, repairable: true });
  const found = await whenQuiet(layout, () => [
    ...unfinishedIn(layout).map((name) => orphan(join(layout.staging, name), "a snapshot that was never finished")),
    ...untoldIn(layout).map(({ snapshot_id: id }) =>
      orphan(folderOf(layout, id), "it is whole, but its audit entry may be missing"),
    ),
    ...leftByRestores(layout).map(({ intent, staged }) =>
      orphan(intent, `a restore that was never finished: ${staged}`),
    ),
  ]);
  return found ?? [];
}

/** Only a folder of the name that restores give theirs is removed, whatever the intent says. */
async function removeLeftRestores(layout: Layout): Promise<void> {
  await whenQuiet(layout, () => {
    for (const { intent, staged } of leftByRestores(layout)) {
      if (/^\..+\.holdfast-\d{8}-\d{9}-[0-9a-f]{8}$/.test(basename(staged)) && isThere(dirname(staged)))
        if (lstatSync(staged, { throwIfNoEntry: false })?.isDirectory())
          rmSync(staged, { recursive: true, force: true });
      removeQuietly(intent);
    }
  });
}

function interrupted(layout: Layout): Fault[] {
  return unsettled(layout)
    .filter((name) => !isUnderWay(layout, name))
    .map((name) => ({
      kind: "interrupted",
      path: join(layout.restores, name),
      problem: `a restore of ${name} in place is not settled`,
      repairable: true,
    }));
}

/** Whoever restores in place or settles marks it by a kernel lock. Looking makes no file. */
function isUnderWay(layout: Layout, name: string): boolean {
  const { mark } = journalOf(layout, name);
  if (!isThere(mark)) return false;
  const own = tryMark(mark);
  own?.[Symbol.dispose]();
  // mutant: tree-live-restore: return own === null; → return own === null && false;
  return own === null;
}

function snapshots(layout: Layout): Fault[] {
  const ids = allIds(layout);
  const known = new Set(ids);
  const faults: Fault[] = [];
  const bad = (kind: Fault["kind"], path: string, problem: string): void =>
    void faults.push({ kind, path, problem, repairable: false });
  const parts = loadIndexParts(objectFolders(layout), (error) =>
    bad("missing_part", String(error.details.path), error.message),
  );
  using index = createObjectIndex(parts);
  for (const id of ids) {
    const folder = folderOf(layout, id);
    if (isThere(join(folder, ".RETIRED"))) continue;
    try {
      const { parent_id: parent } = getSnapshot(layout, id);
      if (parent !== null && !known.has(parent)) bad("broken_chain", folder, `its parent ${parent} is not there`);
      for (const piece of manifestOf(layout, id).pieces)
        if (index.find(Buffer.from(piece, "hex")) === null)
          bad("missing_part", folder, `a piece of its manifest is missing: ${piece}`);
      if (!isThere(join(folder, "skipped"))) bad("missing_part", folder, "the list of what was skipped is missing");
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
      bad(error.code === "E_PARTIAL_SNAPSHOT" ? "partial" : "missing_part", folder, error.message);
    }
  }
  for (const { folder, file } of parts) {
    const pack = join(folder, file.slice(0, -".idx".length));
    if (!isThere(pack) && !isThere(join(folder, "large"))) bad("missing_part", pack, "a pack is missing");
  }
  return faults;
}

function worktrees(layout: Layout): Fault[] {
  const faults: Fault[] = [];
  const bad = (kind: Fault["kind"], path: string, problem: string): void =>
    void faults.push({ kind, path, problem, repairable: false });
  checkRecords(layout, (_id, path, { message }) => bad("missing_part", path, message));
  if (faults.length > 0) return faults; // Whose payload is where cannot be told of all.
  for (const record of listWorktrees(layout)) {
    const payload = payloadOf(layout, record);
    if (isThere(payload)) continue;
    const worktree = record.worktree_id;
    const problem = `the folder of worktree ${worktree} is gone`;
    faults.push({ kind: "missing_payload", path: payload, problem, repairable: false, worktree });
  }
  return faults;
}
