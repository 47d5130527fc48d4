/**
 * Defines `_LOCK.json`: the public fields and, in `store`, the fields that only Holdfast needs. A record with only the
 * first six fields, as another tool may write it, is accepted too; then its lease alone counts.
 */

import { hash } from "node:crypto";
import { HoldfastError } from "../../base/errors.js";
import type { Grant, Proof } from "../../lock/grant.js";
import { type Key, MAX_SEGMENT_BYTES } from "../../lock/key.js";
import { DELIVERABLE } from "../../lock/reserved-kinds.js";

export const SCHEMA_VERSION = "1.0";

/** What everybody may see of the lock of a folder. None of it is meant as input for the work in the folder. */
export interface DeliverableRecord {
  readonly schema_version: string;
  readonly deliverable_id: string;
  /** Who holds it: the owner, such as `agent:writer`. */
  readonly holder: string;
  readonly acquired: string;
  readonly lease_duration_s: number;
  /** The process whose death ends it; null: only the lease counts. */
  readonly pid: number | null;
  readonly lock_id: string;
  readonly fencing_token: number;
  readonly last_renewed_at: string;
  readonly host: string;
  readonly boot_id: string;
  readonly start_time: string | null;
  readonly nonce: string;
}

export interface StoredRecord extends DeliverableRecord {
  readonly store: {
    readonly token_hash: string;
    readonly holder_id: string;
    readonly proof: Proof;
    readonly machine_id: string;
    readonly renewed_boot_ms: number;
    /** The folder it was made in. In a copy of that folder it proves nothing. */
    readonly folder: string;
    /** The keys that are held with it, under the same token, in the store of the workspace; none outside of one. */
    readonly resources: readonly string[];
  };
}

/** A lock that was read and understood. */
export interface FoundLock {
  readonly record: DeliverableRecord;
  readonly grant: Grant;
  /** It came here with a copy of the folder it was made in. */
  readonly isCopy: boolean;
  /** Held with it in the store of the workspace. */
  readonly resources: readonly string[];
}

/**
 * Returns what a record keeps of its lease token. The store knows grants of the same token by another hash: on a server that
 * one is accepted from a caller, and every user of the folder may read this file.
 */
// mutant: deliverable-own-hash: `_LOCK.json\n${token}` → token
export const recordHashOf = (token: string): string => hash("sha256", `_LOCK.json\n${token}`, "base64url");

export function publicPart({ store: _, ...record }: StoredRecord): DeliverableRecord {
  return record;
}

/** Throws a plain `Error` that says what is wrong with it; `E_FORMAT_UNSUPPORTED` when a newer version wrote it. */
export function parseLock(text: string, folder: string, path: string): FoundLock {
  const read = JSON.parse(text) as Partial<StoredRecord> | null;
  if (typeof read !== "object" || read === null) throw new Error("it is no JSON object");
  assertKnownVersion(read.schema_version, path);
  const acquired = Date.parse(String(read.acquired));
  const seconds = read.lease_duration_s;
  if (typeof read.holder !== "string" || read.holder === "") throw new Error("holder is missing");
  if (!Number.isFinite(acquired)) throw new Error("acquired is no time");
  if (typeof seconds !== "number" || !(seconds > 0)) throw new Error("lease_duration_s is no number of seconds");
  if (typeof read.deliverable_id !== "string") throw new Error("deliverable_id is missing");
  const record = withDefaults(read, read.deliverable_id, read.holder, seconds);
  // mutant: deliverable-copy: read.store !== undefined && read.store.folder !== folder → false
  const isCopy = read.store !== undefined && read.store.folder !== folder;
  const resources = isCopy ? [] : (read.store?.resources ?? []);
  return { record, isCopy, resources, grant: grantOf(record, read.store, isCopy) };
}

/** `E_FORMAT_UNSUPPORTED` for another first number; a higher second one only adds fields. */
export function assertKnownVersion(version: unknown, path: string): void {
  const major = Number.parseInt(String(version ?? SCHEMA_VERSION), 10);
  if (major <= Number.parseInt(SCHEMA_VERSION, 10)) return;
  if (Number.isNaN(major)) throw new Error(`schema_version ${JSON.stringify(version)} makes no sense`);
  throw new HoldfastError("E_FORMAT_UNSUPPORTED", `${path} was written by a newer version of holdfast (${version})`, {
    details: { path, schema_version: version },
  });
}

function withDefaults(
  read: Partial<StoredRecord>,
  deliverable_id: string,
  holder: string,
  lease_duration_s: number,
): DeliverableRecord {
  const acquired = String(read.acquired);
  return {
    schema_version: read.schema_version ?? SCHEMA_VERSION,
    deliverable_id,
    holder,
    acquired,
    lease_duration_s,
    pid: typeof read.pid === "number" ? read.pid : null,
    lock_id: read.lock_id ?? "",
    fencing_token: Number.isSafeInteger(read.fencing_token) ? Number(read.fencing_token) : 0,
    last_renewed_at: Number.isFinite(Date.parse(String(read.last_renewed_at)))
      ? String(read.last_renewed_at)
      : acquired,
    host: read.host ?? "",
    boot_id: read.boot_id ?? "",
    start_time: read.start_time ?? null,
    nonce: read.nonce ?? "",
  };
}

/** The same as a grant, so that the rules about recovery and the report of a refusal are those of every other lock. */
function grantOf(record: DeliverableRecord, store: StoredRecord["store"] | undefined, isCopy: boolean): Grant {
  const leaseMs = record.lease_duration_s * 1000;
  return {
    lockId: record.lock_id,
    resource: deliverableKey(record.deliverable_id),
    mode: "write",
    permits: null,
    owner: record.holder,
    holderId: store?.holder_id ?? `${record.host}::${record.pid ?? ""}:${record.start_time ?? ""}`,
    nonce: record.nonce,
    createdAt: Date.parse(record.acquired),
    renewedAt: {
      wallMs: Date.parse(record.last_renewed_at),
      bootMs: store?.renewed_boot_ms ?? 0,
      bootId: store === undefined ? "" : record.boot_id,
      machineId: store?.machine_id ?? "",
    },
    leaseMs,
    graceMs: leaseMs,
    renewals: 0,
    fencingToken: record.fencing_token,
    tokenHash: store?.token_hash ?? "",
    profile: "default",
    detached: record.pid === null,
    cover: null,
    proof: isCopy ? { kind: "none" } : (store?.proof ?? { kind: "none" }),
    metadata: {},
  };
}

/** Returns the key of a deliverable. An id that is too long for one keeps its beginning and gets a hash. */
export function deliverableKey(deliverableId: string): Key {
  const encoded = encodeURIComponent(deliverableId)
    .replaceAll("%3A", ":")
    .replaceAll("%40", "@")
    .replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
  const key = DELIVERABLE + encoded;
  if (key.length <= MAX_SEGMENT_BYTES) return key as Key;
  return `${key.slice(0, KEPT).replace(/%[0-9A-F]?$/, "")}%~${hash("sha256", encoded, "hex").slice(0, 32)}` as Key;
}

const KEPT = 80;
