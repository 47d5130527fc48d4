/** tree.json: what a tree keeps of itself, and what must be true of it before anybody relies on it. */
import { SCHEMA_VERSION } from "../../lock/grant.js";
import type { Key } from "../../lock/key.js";
import type { ManifestRecord } from "../../lock/manifest.js";
import { HoldfastError } from "../../support/errors.js";
import type { StoredGrant } from "../grant-codec.js";
import type { NodeChange } from "./nodes.js";

/** tree.json */
export interface TreeRecord {
  readonly schema_version: number;
  readonly tree: Key;
  readonly boot_id: string;
  readonly fence: number;
  readonly fence_reserved: number;
  readonly audit: { readonly seq: number; readonly hash: string; readonly bytes: number };
  /** How many grants there are on keys below the tree's own. */
  readonly below: number;
  /** False: nobody is in line, line.json need not be read. */
  readonly waiting: boolean;
  readonly grants: readonly StoredGrant[];
  readonly pending?: readonly NodeChange[];
  /** Something was published on a key of this tree: look in publishing/ before granting. */
  readonly publishes?: true;
  /** Manifests that are decided and still to be written. */
  readonly manifests?: readonly ManifestRecord[];
  /** `durable`: once carried out it must survive a power cut, since its decision goes then. */
  readonly op?: { readonly id: string; readonly next: TreeRecord; readonly durable?: true };
}

/** `E_FORMAT_UNSUPPORTED`, `E_STORE_CORRUPT` */
export function assertUsable(record: TreeRecord, path: string): void {
  if (record.schema_version > SCHEMA_VERSION)
    throw new HoldfastError("E_FORMAT_UNSUPPORTED", `${path} was written by a newer version of holdfast`);
  const { fence, fence_reserved, audit, below, grants } = record;
  const isSane =
    Number.isSafeInteger(fence) &&
    Number.isSafeInteger(fence_reserved) &&
    Number.isSafeInteger(audit?.seq) &&
    Number.isSafeInteger(audit.bytes) &&
    Number.isSafeInteger(below) &&
    Array.isArray(grants);
  if (!isSane) throw new HoldfastError("E_STORE_CORRUPT", `${path} makes no sense`, { details: { path } });
}

/** Whether a power cut must not take it: something in it is held without a process. */
export function outlivesMachine({ grants, pending, op }: TreeRecord): boolean {
  const isDetached = (grant: StoredGrant): boolean => grant.store?.detached ?? false;
  return (
    grants.some(isDetached) ||
    (pending?.some((node) => node.grants.some(isDetached)) ?? false) ||
    (op !== undefined && outlivesMachine(op.next))
  );
}
