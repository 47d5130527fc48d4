/**
 * Encodes grants and tickets as stores write them: the public record in its fixed names, and beside it the fields that
 * only the store needs. Decoding checks the record: one that makes no sense, or a newer one, is reported as unreadable,
 * never guessed at.
 */

import { isObject } from "../../base/is-object.js";
import {
  type Bid,
  type Grant,
  type GrantRecord,
  PROFILES,
  type Profile,
  type Proof,
  SCHEMA_VERSION,
  type Ticket,
  toRecord,
  type UnreadableGrant,
} from "../../lock/grant.js";
import type { Key } from "../../lock/key.js";
import { MODES, type Mode } from "../../lock/mode.js";

/** The store's own part of a grant. */
interface GrantDetails {
  readonly token_hash: string;
  readonly profile: Profile;
  readonly permits: number | null;
  readonly detached: boolean;
  readonly cover: string | null;
  readonly proof: Proof;
  readonly boot_id: string;
  readonly machine_id: string;
  readonly renewed_boot_ms: number;
  readonly grace_ms: number;
  readonly renewals: number;
}

export interface StoredGrant extends GrantRecord {
  readonly store: GrantDetails;
}

export function encodeGrant(grant: Grant): StoredGrant {
  const record: GrantRecord & { store?: GrantDetails } = toRecord(grant);
  record.store = detailsOf(grant);
  return record as StoredGrant;
}

function detailsOf(grant: Grant): GrantDetails {
  return {
    token_hash: grant.tokenHash,
    profile: grant.profile,
    permits: grant.permits,
    detached: grant.detached,
    cover: grant.cover,
    proof: grant.proof,
    boot_id: grant.renewedAt.bootId,
    machine_id: grant.renewedAt.machineId,
    renewed_boot_ms: grant.renewedAt.bootMs,
    grace_ms: grant.graceMs,
    renewals: grant.renewals,
  };
}

class NewerRecord extends Error {}

/** What is told of a record that could not be read, by the error it was met with. */
export function unreadable(resource: Key, error: unknown, where = ""): UnreadableGrant {
  const why = `${where}${(error as Error).message}`;
  return error instanceof NewerRecord ? { resource, why, isNewer: true } : { resource, why };
}

/** Throws a plain `Error` that says what is wrong with it. */
export function decodeGrant(record: StoredGrant): Grant {
  if (record.schema_version > SCHEMA_VERSION)
    throw new NewerRecord(`written by a newer version (schema ${record.schema_version})`);
  const { store } = record;
  const wallMs = Date.parse(record.last_renewed_at);
  const createdAt = Date.parse(record.created_at);
  const sane =
    areTexts(record.lock_id, record.resource, record.owner, record.holder_id, record.nonce) &&
    MODES.includes(record.mode) &&
    Number.isSafeInteger(record.fencing_token) &&
    Number.isFinite(wallMs + createdAt) &&
    record.lease_duration_s > 0 &&
    record.lease_duration_s <= LONGEST_LEASE_S &&
    isObject(record.metadata) &&
    areSane(store);
  if (!sane) throw new Error("fields are missing or make no sense");
  return {
    lockId: record.lock_id,
    resource: record.resource as Key,
    mode: record.mode,
    permits: store.permits,
    owner: record.owner,
    holderId: record.holder_id,
    nonce: record.nonce,
    createdAt,
    renewedAt: { wallMs, bootMs: store.renewed_boot_ms, bootId: store.boot_id, machineId: store.machine_id },
    leaseMs: Math.round(record.lease_duration_s * 1000),
    graceMs: store.grace_ms,
    renewals: store.renewals,
    fencingToken: record.fencing_token,
    tokenHash: store.token_hash,
    profile: store.profile,
    detached: store.detached,
    cover: store.cover,
    proof: store.proof,
    metadata: record.metadata,
  };
}

/** More than anybody is given, and little enough for its end to be a date. */
const LONGEST_LEASE_S = 1e9;

function areSane(store: GrantDetails | null | undefined): boolean {
  return (
    isObject(store) &&
    areTexts(store.token_hash, store.boot_id, store.machine_id) &&
    PROFILES.includes(store.profile) &&
    (store.permits === null || Number.isSafeInteger(store.permits)) &&
    typeof store.detached === "boolean" &&
    (store.cover === null || areTexts(store.cover)) &&
    Number.isFinite(store.renewed_boot_ms) &&
    Number.isFinite(store.grace_ms) &&
    Number.isSafeInteger(store.renewals) &&
    isObject(store.proof) &&
    isProof(store.proof)
  );
}

function isProof(proof: Proof): boolean {
  switch (proof.kind) {
    case "none":
      return true;
    case "file":
      return areTexts(proof.file) && typeof proof.inherited === "boolean";
    case "pid":
      return Number.isSafeInteger(proof.pid) && areTexts(proof.startTime, proof.pidNamespace, proof.bootId);
    default:
      return false;
  }
}

function areTexts(...values: readonly unknown[]): boolean {
  return values.every((value) => typeof value === "string");
}

/** Tickets live for seconds, are rewritten often, and are the store's own business: short names, nothing twice. */
interface StoredTicket {
  readonly id: string;
  readonly n: number;
  readonly wants: readonly (readonly [resource: Key, mode: Mode, permits: number | null])[];
  readonly owner: string;
  readonly holder: string;
  readonly nonce: string;
  readonly proof: Proof;
  readonly boot: string;
  readonly machine: string;
  readonly entered: readonly [wallMs: number, bootMs: number];
  readonly wait: number;
  readonly seen: readonly [wallMs: number, bootMs: number];
  readonly up: string | null;
  readonly bid?: Bid;
  readonly kept?: readonly (readonly [resource: Key, lockId: string])[];
}

/** As `JSON.stringify` does it, and quicker: what all tickets of a waiter have in common is put into words once. */
export function encodeTicket(ticket: Ticket): string {
  const { wants, enteredAt, refreshedAt, bid, kept = null } = ticket;
  const id = `"id":${JSON.stringify(ticket.ticketId)},"n":${ticket.number}`;
  const asked = `"wants":${JSON.stringify(wants.map(({ resource, mode, permits }) => [resource, mode, permits]))}`;
  const entered = `"entered":[${enteredAt.wallMs},${enteredAt.bootMs}],"wait":${ticket.waitMs}`;
  const seen = `"seen":[${refreshedAt.wallMs},${refreshedAt.bootMs}],"up":${JSON.stringify(ticket.upgradeOf)}`;
  const offer = bid === null ? "" : `,"bid":${JSON.stringify(bid)}`;
  const keeping =
    kept === null ? "" : `,"kept":${JSON.stringify(kept.map(({ resource, lockId }) => [resource, lockId]))}`;
  return `{${id},${asked},${waiterIn(ticket)},${entered},${seen}${offer}${keeping}}`;
}

/** Mostly it is the same one again. */
let lastWaiter: Pick<Ticket, "owner" | "holderId" | "nonce" | "proof" | "refreshedAt"> | null = null;
let lastWords = "";

function waiterIn(ticket: Ticket): string {
  if (lastWaiter === null || !isSameWaiter(lastWaiter, ticket)) {
    const { owner, holderId: holder, nonce, proof, refreshedAt } = ticket;
    lastWaiter = ticket;
    const { bootId: boot, machineId: machine } = refreshedAt;
    lastWords = JSON.stringify({ owner, holder, nonce, proof, boot, machine }).slice(1, -1);
  }
  return lastWords;
}

function isSameWaiter(one: NonNullable<typeof lastWaiter>, other: Ticket): boolean {
  return (
    one.nonce === other.nonce &&
    one.proof === other.proof &&
    one.owner === other.owner &&
    one.holderId === other.holderId &&
    one.refreshedAt.bootId === other.refreshedAt.bootId &&
    one.refreshedAt.machineId === other.refreshedAt.machineId
  );
}

export function decodeTicket(from: unknown): Ticket {
  const stored = (typeof from === "string" ? JSON.parse(from) : from) as StoredTicket;
  if (!areTexts(stored.id, stored.nonce, stored.boot) || !Number.isSafeInteger(stored.n) || !isProof(stored.proof))
    throw new Error("fields are missing or make no sense");
  const at = ([wallMs, bootMs]: readonly [number, number]) => ({
    wallMs,
    bootMs,
    bootId: stored.boot,
    machineId: stored.machine,
  });
  return {
    ticketId: stored.id,
    number: stored.n,
    wants: stored.wants.map(([resource, mode, permits]) => ({ resource, mode, permits })),
    owner: stored.owner,
    holderId: stored.holder,
    nonce: stored.nonce,
    proof: stored.proof,
    enteredAt: at(stored.entered),
    waitMs: stored.wait,
    refreshedAt: at(stored.seen),
    upgradeOf: stored.up,
    bid: stored.bid ?? null,
    ...(stored.kept === undefined ? {} : { kept: stored.kept.map(([resource, lockId]) => ({ resource, lockId })) }),
  };
}
