/** The record of a tree that has none: a new tree, or one that lost it. */
import type { AuditDraft, AuditEntry } from "../../lock/audit.js";
import { SCHEMA_VERSION } from "../../lock/grant.js";
import type { Key } from "../../lock/key.js";
import type { Instant } from "../../lock/time.js";
import { HoldfastError } from "../../support/errors.js";
import type { ChainStory } from "./chain.js";
import type { NodeFiles } from "./nodes.js";
import type { TreeRecord } from "./tree-record.js";

export function bootedAt(now: Instant): number {
  return now.wallMs - now.bootMs;
}

/** The tree with its chain as it was found, and nothing held on its own key. */
export function newRecord(
  tree: Key,
  now: Instant,
  { end }: ChainStory,
  counts: Pick<TreeRecord, "fence" | "fence_reserved" | "below" | "publishes">,
): TreeRecord {
  return {
    schema_version: SCHEMA_VERSION,
    tree,
    boot_id: now.bootId,
    fence: counts.fence,
    fence_reserved: counts.fence_reserved,
    audit: end,
    below: counts.below,
    waiting: false,
    grants: [],
    ...(counts.publishes ? { publishes: true as const } : {}),
  };
}

/**
 * What the audit calls held must be on record. Only a restart may take a record away: then whatever it held is over,
 * for a record that must outlive the machine is never written so that it can be lost. Call it when there was none since
 * the last entry. `E_STORE_CORRUPT`
 */
export function assertNothingForgotten({ live }: ChainStory, tree: Key, nodes: NodeFiles, path: string): void {
  const isOnRecord = ({ resource, lock_id }: AuditEntry): boolean =>
    resource !== tree && nodes.at(resource as Key).grants.some((grant) => grant.lockId === lock_id);
  const forgotten = live.find((entry) => !isOnRecord(entry));
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

/** The entry that says that the chain was mended. */
export function repairNote(tree: Key, now: Instant, reason: string, lost: number): AuditDraft {
  return {
    at: now.wallMs,
    event: "chain_repaired",
    resource: tree,
    owner: "service:holdfast",
    holderId: "",
    fencingToken: null,
    lockId: null,
    details: { reason, lost },
  };
}
