/** What a step makes of a tree, worked out before anything is written. */
import { type AuditDraft, type ChainHead, chain } from "../../lock/audit.js";
import { type Grant, SCHEMA_VERSION } from "../../lock/grant.js";
import type { Key } from "../../lock/key.js";
import { type Manifest, type ManifestRecord, toManifestRecord } from "../../lock/manifest.js";
import { encodeGrant, type StoredGrant } from "../grant-codec.js";
import { atNode, type NodeImage, type Places, place } from "./kept-grants.js";
import type { NodeChange, NodeContent } from "./nodes.js";
import { TREE_VERSION, type TreeRecord } from "./tree-record.js";

/** What a step makes of a tree, ready to be written. */
export interface TreeStep {
  readonly record: TreeRecord;
  /** The grants in the record, when all are understood. */
  readonly kept: readonly Grant[] | null;
  /** What goes into files of nodes below. */
  readonly images: readonly NodeContent[];
  readonly manifests: readonly ManifestRecord[];
  /** Lines for the audit chain. */
  readonly entries: Buffer;
  readonly durable: boolean;
}

export interface TreeChanges {
  readonly adds: readonly Grant[];
  readonly updates: readonly Grant[];
  readonly drops: readonly Grant[];
  readonly audit: readonly AuditDraft[];
  readonly manifests: readonly Manifest[];
  readonly clears?: readonly Key[];
}

/** The state a step begins with. */
export interface TreeBefore extends Places {
  /** The last fencing token given out, in this step too. */
  readonly fenceUsed: number;
}

/** Writes nothing. */
export function stepAfter(before: TreeBefore, changes: TreeChanges, durable: boolean): TreeStep {
  const { record, fenceUsed } = before;
  const { kept, decoded, filed, below } = place(before, imagesAfter(before, changes));
  const { head, entries } = chained(record.audit, changes.audit);
  const after: TreeRecord = {
    schema_version: TREE_VERSION,
    tree: record.tree,
    boot_id: record.boot_id,
    fence: fenceUsed,
    fence_reserved: record.fence_reserved,
    audit: { seq: head.seq, hash: head.hash, bytes: record.audit.bytes + entries.length },
    below,
    waiting: record.waiting,
    grants: kept,
  };
  const publishes = record.publishes || changes.manifests.length > 0;
  return {
    kept: decoded,
    images: filed,
    entries,
    durable,
    manifests: changes.manifests.map(toManifestRecord),
    record: publishes ? { ...after, publishes } : after,
  };
}

/** The nodes the changes touch, each with all the grants it will have. */
function imagesAfter(before: TreeBefore, { adds, updates, drops, clears = [] }: TreeChanges): NodeImage[] {
  const nodes = new Map<Key, { readonly grants: Map<string, Grant>; readonly strange: readonly StoredGrant[] }>();
  const kept = (resource: Key, strange: readonly StoredGrant[]): readonly StoredGrant[] =>
    clears.includes(resource) ? strange.filter(isNewer) : strange;
  const at = (resource: Key): Map<string, Grant> => {
    let node = nodes.get(resource);
    if (node === undefined) {
      const { grants, strange } = atNode(before, resource);
      node = { grants: new Map(grants.map((grant) => [grant.lockId, grant])), strange: kept(resource, strange) };
      nodes.set(resource, node);
    }
    return node.grants;
  };
  for (const resource of clears) at(resource);
  for (const grant of drops) at(grant.resource).delete(grant.lockId);
  for (const grant of adds) at(grant.resource).set(grant.lockId, grant);
  for (const grant of updates) at(grant.resource).set(grant.lockId, grant);
  return [...nodes].map(([resource, { grants, strange }]) => ({
    resource,
    grants: [...[...grants.values()].map(encodeGrant), ...strange],
    decoded: strange.length === 0 ? [...grants.values()] : null,
  }));
}

function isNewer(stored: StoredGrant | null): boolean {
  return (stored?.schema_version ?? 0) > SCHEMA_VERSION;
}

function chained(from: ChainHead, drafts: readonly AuditDraft[]): { head: ChainHead; entries: Buffer } {
  let head: ChainHead = { seq: from.seq, hash: from.hash };
  let lines = "";
  for (const draft of drafts) {
    const entry = chain(head, draft);
    lines += `${entry.line}\n`;
    head = entry.head;
  }
  return { head, entries: Buffer.from(lines) };
}

/** The record of the step, with what is to be done once it is written. */
export function withPending(step: TreeStep): TreeRecord {
  const { record, images, manifests } = step;
  if (images.length === 0 && manifests.length === 0) return record;
  const pending = images.length === 0 ? {} : { pending: pendingOf(step) };
  return manifests.length === 0 ? { ...record, ...pending } : { ...record, ...pending, manifests };
}

/** What the files of nodes below are to hold. */
function pendingOf({ images, durable }: TreeStep): NodeChange[] {
  return images.map(({ resource, grants }) => (durable ? { resource, grants, durable } : { resource, grants }));
}
