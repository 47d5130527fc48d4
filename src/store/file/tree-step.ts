/** What a step makes of a tree, worked out before anything is written. */
import { type AuditDraft, type ChainHead, chain } from "../../lock/audit.js";
import { type Grant, SCHEMA_VERSION } from "../../lock/grant.js";
import type { Key } from "../../lock/key.js";
import { type Manifest, type ManifestRecord, toManifestRecord } from "../../lock/manifest.js";
import { encodeGrant, type StoredGrant } from "../grant-codec.js";
import type { Found, NodeChange, NodeContent } from "./nodes.js";
import type { TreeRecord } from "./tree-record.js";

/** A node's new content, and what it says if all of it could be understood. */
interface DecodedImage extends NodeContent {
  readonly decoded: readonly Grant[] | null;
}

/** What a step makes of a tree, ready to be written. */
export interface TreeStep {
  readonly record: TreeRecord;
  /** The grants on the tree's own key, when they change and all are understood. */
  readonly own: readonly Grant[] | null;
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
export interface TreeBefore {
  readonly record: TreeRecord;
  /** The last fencing token given out, in this step too. */
  readonly fenceUsed: number;
  /** What is held on a key of the tree. */
  at(resource: Key): Found;
}

/** Writes nothing. */
export function stepAfter(before: TreeBefore, changes: TreeChanges, durable: boolean): TreeStep {
  const { record, fenceUsed } = before;
  const images = imagesAfter(before, changes);
  const own = images.find((image) => image.resource === record.tree);
  const { head, entries } = chained(record.audit, changes.audit);
  const after: TreeRecord = {
    schema_version: record.schema_version,
    tree: record.tree,
    boot_id: record.boot_id,
    fence: fenceUsed,
    fence_reserved: record.fence_reserved,
    audit: { seq: head.seq, hash: head.hash, bytes: record.audit.bytes + entries.length },
    below: record.below + countBelow(record.tree, changes.adds) - countBelow(record.tree, changes.drops),
    waiting: record.waiting,
    grants: own?.grants ?? record.grants,
  };
  const publishes = record.publishes || changes.manifests.length > 0;
  return {
    own: own?.decoded ?? null,
    images: own === undefined ? images : images.filter((image) => image !== own),
    entries,
    durable,
    manifests: changes.manifests.map(toManifestRecord),
    record: publishes ? { ...after, publishes } : after,
  };
}

/** The nodes the changes touch, each with all the grants it will have. */
function imagesAfter(before: TreeBefore, { adds, updates, drops, clears = [] }: TreeChanges): DecodedImage[] {
  const nodes = new Map<Key, { readonly grants: Map<string, Grant>; readonly strange: readonly StoredGrant[] }>();
  const kept = (resource: Key, strange: readonly StoredGrant[]): readonly StoredGrant[] =>
    clears.includes(resource) ? strange.filter(({ schema_version }) => schema_version > SCHEMA_VERSION) : strange;
  const at = (resource: Key): Map<string, Grant> => {
    let node = nodes.get(resource);
    if (node === undefined) {
      const { grants, strange } = before.at(resource);
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

function countBelow(tree: Key, grants: readonly Grant[]): number {
  let count = 0;
  for (const grant of grants) if (grant.resource !== tree) count += 1;
  return count;
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
