/** Computes the new state of a tree after a step, before anything is written. */
import { type AuditDraft, type ChainHead, chain } from "../../../lock/audit.js";
import { type Grant, SCHEMA_VERSION } from "../../../lock/grant.js";
import type { Key } from "../../../lock/key.js";
import { type Manifest, type ManifestRecord, toManifestRecord } from "../../../lock/manifest.js";
import { encodeGrant, type StoredGrant } from "../../local/grant-codec.js";
import { atNode, type NodeImage, type Places, place } from "./kept-grants.js";
import type { NodeChange, NodeContent } from "./node-files.js";
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
  /** Whether a publish on the tree is pending after the step. */
  readonly publishes: true | undefined;
}

/** Writes nothing. */
export function stepAfter(before: TreeBefore, changes: TreeChanges, durable: boolean): TreeStep {
  const { record, fenceUsed, publishes } = before;
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
function imagesAfter(before: TreeBefore, { adds, updates, drops, clears = NOWHERE }: TreeChanges): NodeImage[] {
  const nodes = new Map<Key, Node>();
  const at = (resource: Key): Grant[] => {
    let node = nodes.get(resource);
    if (node === undefined) {
      const { grants, strange } = atNode(before, resource);
      node = { grants: [...grants], strange: clears.includes(resource) ? strange.filter(isNewer) : strange };
      nodes.set(resource, node);
    }
    return node.grants;
  };
  for (const resource of clears) at(resource);
  for (const grant of drops) drop(at(grant.resource), grant);
  for (const grant of adds) put(at(grant.resource), grant);
  for (const grant of updates) put(at(grant.resource), grant);
  const images: NodeImage[] = [];
  for (const [resource, { grants, strange }] of nodes) images.push(imageOf(resource, grants, strange));
  return images;
}

const NOWHERE: readonly Key[] = [];

interface Node {
  readonly grants: Grant[];
  readonly strange: readonly StoredGrant[];
}

function drop(grants: Grant[], { lockId }: Grant): void {
  const at = grants.findIndex((other) => other.lockId === lockId);
  if (at >= 0) grants.splice(at, 1);
}

function put(grants: Grant[], grant: Grant): void {
  const at = grants.findIndex((other) => other.lockId === grant.lockId);
  if (at >= 0) grants[at] = grant;
  else grants.push(grant);
}

function imageOf(resource: Key, grants: readonly Grant[], strange: readonly StoredGrant[]): NodeImage {
  const stored = grants.map(encodeGrant);
  return strange.length === 0
    ? { resource, grants: stored, decoded: grants }
    : { resource, grants: [...stored, ...strange], decoded: null };
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
