/**
 * Makes the record with which a tree begins when it cannot continue from its own: the record is missing, because the
 * tree is new or lost it, or the machine was restarted, and unsynced data may be older than it was.
 *
 * A power cut may destroy a record that it caught in place. The first step after the restart begins it anew:
 *   1. remove the files of nodes that the cut tore             a crash leaves some of them: the next step removes them
 *   2. append `chain_repaired` to the audit and sync it        a crash leaves no record, or the torn one: the next step
 *                                                              adds no second entry, and does 3
 *   3. replace tree.json by a file that counts this entry      done
 * The same steps mend a record that is JSON with torn grants in it, except that there a crash after 2 leaves an entry that
 * the record does not count, and the next step writes its own over it.
 *
 * Two file times distinguish such a loss from damage that a person did since the reboot: those of the torn record and of
 * the audit file. Step 3 therefore writes nothing into the torn file, and the entry of step 2, which gives the audit file a
 * new time, names as `held` the grants that are on record all the same, in files of nodes. All others before it are over.
 *
 * It does not notice a record that a person removed before the reboot: the grants in it count as over.
 */

import { join } from "node:path";
import { HoldfastError } from "../../../base/errors.js";
import type { AuditDraft, AuditEntry } from "../../../lock/audit.js";
import type { Key } from "../../../lock/key.js";
import { fenceAt, type Instant } from "../../../lock/time.js";
import { lookUp } from "../../../platform/look-up.js";
import type { AuditFile } from "../audit/audit-file.js";
import { type ChainStory, endAfterRestart, RECORD_LOST, readStory } from "../audit/read-chain.js";
import type { FenceFloor } from "./fence-floor.js";
import { NodeFiles } from "./node-files.js";
import { TREE_VERSION, type TreeRecord } from "./tree-record.js";

/** Numbers that a new tree begins with: they lie under the floor of the store. */
const FIRST_BLOCK = 1_000;
/** Numbers reserved by one write that reaches the disk: a tree that has used up its first ones will want many. */
export const FENCE_BLOCK = 10_000;

/** What is left of a tree beside its record. */
export interface TreeRemains {
  /** Of the record. */
  readonly path: string;
  readonly audit: AuditFile;
  readonly nodes: NodeFiles;
  readonly floor: FenceFloor;
  readonly fenceReserved: number | undefined;
  readonly publishes: boolean;
}

export interface Beginning {
  readonly record: TreeRecord;
  /** The entry that says that the chain was mended. Null also when the chain has it already. */
  readonly mended: AuditDraft | null;
}

/** When this boot began, by the wall clock. Where the boot is unknown, nothing is from before it. */
export function bootedAt(now: Instant): number {
  // mutant: file-unknown-boot-age: return now.bootId === "" ? Number.NEGATIVE_INFINITY : → return
  return now.bootId === "" ? Number.NEGATIVE_INFINITY : now.wallMs - now.bootMs;
}

/** The boot to put on record: an unknown one takes the place of none. */
export function bootNoted({ boot_id }: Pick<TreeRecord, "boot_id">, now: Instant): string {
  return now.bootId === "" ? boot_id : now.bootId;
}

/**
 * Returns the tree with its chain as it was found, and nothing held but what files of keys below say. `isLost`: the tree
 * had a record once.
 */
export function beginning(tree: Key, remains: TreeRemains, now: Instant): Beginning & { readonly isLost: boolean } {
  const { path, audit, nodes, floor, fenceReserved } = remains;
  const story = readStory(audit.path, audit.size(), tree);
  const isLost = story.end.seq > 0;
  const isFromThisBoot = !audit.isOlderThan(bootedAt(now));
  // mutant: file-forgotten-record: if (isLost && isFromThisBoot) → if (isLost && audit.isOlderThan(0))
  if (isLost && isFromThisBoot) assertNothingForgotten(story, tree, nodes, path);
  const first =
    fenceReserved === undefined ? floor.startOfNewTree(now, FIRST_BLOCK) : Math.max(fenceReserved, fenceAt(now));
  const start = Math.max(first, story.highestToken);
  const record: TreeRecord = {
    schema_version: TREE_VERSION,
    tree,
    boot_id: now.bootId,
    fence: start,
    fence_reserved: fenceReserved !== undefined || story.highestToken > 0 ? start : start + FIRST_BLOCK,
    audit: story.end,
    below: nodes.count(bootedAt(now)),
    waiting: false,
    grants: [],
    ...(remains.publishes ? { publishes: true as const } : {}),
  };
  // mutant: file-lost-record-once: const isNoted = story.endsWithLoss && isFromThisBoot; → const isNoted = false;
  const isNoted = story.endsWithLoss && isFromThisBoot;
  if (!isLost || isNoted) return { record, isLost, mended: null };
  const held = story.live.filter((entry) => isOnRecord(entry, tree, nodes)).map((entry) => entry.lock_id);
  const mended = repairNote(tree, now, { reason: RECORD_LOST, lost: 0, ...(held.length === 0 ? {} : { held }) });
  return { record, isLost, mended };
}

/**
 * The reserved mark is on the disk, everything else may be older than it was: numbers go on behind the mark, and not below
 * the time. `wasTorn` when not all of the record could be used.
 */
export function restarted(
  record: TreeRecord,
  { audit, nodes, fenceReserved = 0 }: TreeRemains,
  now: Instant,
  wasTorn: boolean,
): Beginning {
  // mutant: file-fence-restart: record.fence_reserved, fenceReserved, fenceAt(now)); → fenceReserved < 0 ? fenceReserved : 0);
  const fence = Math.max(record.fence, record.fence_reserved, fenceReserved, fenceAt(now));
  const end = endAfterRestart(audit.path, record.audit);
  const below = nodes.count(bootedAt(now));
  const isMended = wasTorn || end.hash !== record.audit.hash;
  const reason = wasTorn
    ? "the machine restarted while the record of the tree was written"
    : "the machine restarted before these entries reached the disk";
  return {
    record: { ...record, boot_id: bootNoted(record, now), fence, fence_reserved: fence, audit: end, below },
    mended: isMended ? repairNote(record.tree, now, { reason, lost: record.audit.seq - end.seq }) : null,
  };
}

/**
 * What the audit calls held must be on record. Only a restart may take a record away: then whatever it held is over,
 * for a record that must outlive the machine is never written so that it can be lost. Call it when there was none since
 * the last entry. `E_STORE_CORRUPT`
 */
function assertNothingForgotten({ live }: ChainStory, tree: Key, nodes: NodeFiles, path: string): void {
  const forgotten = live.find((entry) => !isOnRecord(entry, tree, nodes));
  if (forgotten === undefined) return;
  throw new HoldfastError(
    "E_STORE_CORRUPT",
    `${path} is gone, and with it the record of what ${forgotten.owner} holds on ${forgotten.resource}`,
    {
      details: { path, resource: forgotten.resource, lock_id: forgotten.lock_id },
      next: ["Put the file back from a copy; or end everything that uses this tree, then move its folder away."],
    },
  );
}

/** Whether the file of its node has the grant that an entry made. */
function isOnRecord({ resource, lock_id }: AuditEntry, tree: Key, nodes: NodeFiles): boolean {
  return resource !== tree && nodes.at(resource as Key).grants.some((grant) => grant.lockId === lock_id);
}

/**
 * Throws `E_STORE_CORRUPT` when a tree that has no record held something since the machine came up. For those who only read:
 * they have nothing else that tells a lost record from a tree that was never used.
 */
export function assertNothingLost(tree: Key, folder: string, now: Instant): void {
  const chain = join(folder, "audit.jsonl");
  const found = lookUp(chain);
  if (found === null || found.mtimeMs < bootedAt(now)) return;
  const story = readStory(chain, found.size, tree);
  assertNothingForgotten(story, tree, new NodeFiles(folder, tree), join(folder, "tree.json"));
}

/** The entry that says that the chain was mended. */
function repairNote(tree: Key, now: Instant, details: AuditDraft["details"]): AuditDraft {
  return {
    at: now.wallMs,
    event: "chain_repaired",
    resource: tree,
    owner: "service:holdfast",
    holderId: "",
    fencingToken: null,
    lockId: null,
    details,
  };
}
