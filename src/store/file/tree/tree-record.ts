/** Defines tree.json, the record of a tree, and checks it before it is relied on. */

import { basename, dirname } from "node:path";
import { HoldfastError } from "../../../base/errors.js";
import type { Key } from "../../../lock/key.js";
import type { ManifestRecord } from "../../../lock/manifest.js";
import type { StoredGrant } from "../../local/grant-codec.js";
import { encodeSegment } from "../encoding.js";
import type { Codec } from "./block-file.js";
import type { NodeChange } from "./node-files.js";

export const TREE_VERSION = 1;

/** tree.json */
export interface TreeRecord {
  readonly schema_version: number;
  readonly tree: Key;
  readonly boot_id: string;
  readonly fence: number;
  readonly fence_reserved: number;
  readonly audit: { readonly seq: number; readonly hash: string; readonly bytes: number };
  /** How many grants there are in files of keys below the tree's own. */
  readonly below: number;
  /** False: nobody is in line, line.jsonl need not be read. */
  readonly waiting: boolean;
  /** On the tree's own key, and some on keys below it: kept-grants.ts says which. */
  readonly grants: readonly StoredGrant[];
  readonly pending?: readonly NodeChange[];
  /** A publish on a key of this tree, or to a target whose key is in it, is pending: look in publishing/ before granting. */
  readonly publishes?: true;
  /** Manifests that are decided and still to be written. */
  readonly manifests?: readonly ManifestRecord[];
  /** `durable`: once carried out it must survive a power cut, since its decision goes then. */
  readonly op?: { readonly id: string; readonly next: TreeRecord; readonly durable?: true };
}

/**
 * The same record as an object of one kind, as most are, wherever it comes from: parsed, made by a step, or with a field
 * changed. What is done in every step is compiled for that kind.
 */
export function inOneShape(record: TreeRecord): TreeRecord {
  const { schema_version, tree, boot_id, fence, fence_reserved, audit, below, waiting, grants } = record;
  const { pending, publishes, manifests, op } = record;
  if (pending !== undefined || publishes !== undefined || manifests !== undefined || op !== undefined) return record;
  const { seq, hash, bytes } = audit;
  const head = { seq, hash, bytes };
  return { schema_version, tree, boot_id, fence, fence_reserved, audit: head, below, waiting, grants };
}

/** `E_FORMAT_UNSUPPORTED`, `E_STORE_CORRUPT` */
export function assertUsable(record: TreeRecord, path: string): void {
  if (record.schema_version > TREE_VERSION)
    throw new HoldfastError("E_FORMAT_UNSUPPORTED", `${path} was written by a newer version of holdfast`);
  const { schema_version, tree, fence, fence_reserved, audit, below, waiting, grants } = record;
  const isSane =
    Number.isSafeInteger(schema_version) &&
    isPlain(tree) &&
    Number.isSafeInteger(fence) &&
    Number.isSafeInteger(fence_reserved) &&
    Number.isSafeInteger(audit?.seq) &&
    isPlain(audit.hash) &&
    Number.isSafeInteger(audit.bytes) &&
    Number.isSafeInteger(below) &&
    typeof waiting === "boolean" &&
    Array.isArray(grants);
  if (!isSane) throw new HoldfastError("E_STORE_CORRUPT", `${path} makes no sense`, { details: { path } });
  // mutant: tree-of-another: if (basename(dirname(path)) !== encodeSegment(tree)) → if (path === "")
  if (basename(dirname(path)) !== encodeSegment(tree))
    throw new HoldfastError("E_STORE_CORRUPT", `${path} is the record of ${tree}`, { details: { path } });
}

/** Names, ids and hashes: what stands in JSON as it is. */
function isPlain(text: unknown): boolean {
  return typeof text === "string" && PLAIN.test(text);
}

const PLAIN = /^[\w.\-:@+=,~%]*$/;

/** As `JSON.stringify` does it, and quicker: it is done in every step, and what is plain needs no escaping. */
function encode(record: TreeRecord): string {
  const { schema_version, tree, boot_id, fence, fence_reserved, audit, below, waiting, grants } = record;
  const name = `"schema_version":${schema_version},"tree":"${tree}","boot_id":${JSON.stringify(boot_id)}`;
  const numbers = `"fence":${fence},"fence_reserved":${fence_reserved}`;
  const chain = `"audit":{"seq":${audit.seq},"hash":"${audit.hash}","bytes":${audit.bytes}}`;
  const held = `"below":${below},"waiting":${waiting},"grants":${JSON.stringify(grants)}`;
  return `{${name},${numbers},${chain},${held}${encodeRest(record)}}`;
}

function encodeRest({ pending, publishes, manifests, op }: TreeRecord): string {
  const isNothing = pending === undefined && publishes === undefined && manifests === undefined && op === undefined;
  return isNothing ? "" : `,${JSON.stringify({ pending, publishes, manifests, op }).slice(1, -1)}`;
}

/** Whether a power cut must not take it: something in it is held without a process. */
export function outlivesMachine({ grants, pending, op }: TreeRecord): boolean {
  const isDetached = (grant: StoredGrant | null): boolean => grant?.store?.detached ?? false;
  return (
    grants.some(isDetached) ||
    (pending?.some((node) => node.grants.some(isDetached)) ?? false) ||
    (op !== undefined && outlivesMachine(op.next))
  );
}

/** How it is written, and what is asked of one that was read. */
export const TREE_CODEC: Codec<TreeRecord> = {
  encode,
  decode(record, path) {
    assertUsable(record, path);
    return inOneShape(record);
  },
};
