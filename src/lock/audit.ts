/**
 * The audit trail: one hash chain per tree. An entry's hash covers the entry and the hash before it, and the head of each
 * chain (count and last hash) is kept apart from the entries, so an edit, a deletion, a swap or a cut tail shows.
 */
import { hash as digest } from "node:crypto";
import { isWithin, type Key } from "./key.js";
import { isoTime } from "./time.js";

export const AUDIT_EVENTS = [
  "granted",
  "released",
  "upgraded",
  "downgraded",
  "resumed",
  "refused",
  "overlap",
  "recovered",
  "stolen",
  "broken",
  "published",
  "publish_undone",
  "snapshot",
  "restore",
  "job",
  "chain_repaired",
  "fence_raised",
] as const;
export type AuditEvent = (typeof AUDIT_EVENTS)[number];

/** An entry before it has its place in the chain. */
export interface AuditDraft {
  readonly at: number;
  readonly event: AuditEvent;
  readonly resource: Key;
  readonly owner: string;
  readonly holderId: string;
  readonly fencingToken: number | null;
  readonly lockId: string | null;
  readonly details: Readonly<Record<string, unknown>>;
}

export interface AuditEntry {
  readonly seq: number;
  readonly at: string;
  /** `damaged` stands for an entry that cannot be read (stored-entry.ts). */
  readonly event: AuditEvent | "damaged";
  readonly resource: string;
  readonly owner: string;
  readonly holder_id: string;
  readonly fencing_token: number | null;
  readonly lock_id: string | null;
  readonly details: Readonly<Record<string, unknown>>;
  readonly prev_hash: string;
  readonly hash: string;
}

export interface ChainHead {
  readonly seq: number;
  readonly hash: string;
}

export const EMPTY_CHAIN: ChainHead = { seq: 0, hash: "0".repeat(64) };

/** The entry's own JSON, without its hash: what the hash is taken over, and the start of what a file keeps. */
function bodyOf(head: ChainHead, draft: AuditDraft): string {
  return `{"seq":${head.seq + 1},"at":"${isoTime(draft.at)}","event":"${draft.event}","resource":"${
    draft.resource
  }",${whoIn(draft)},"fencing_token":${
    draft.fencingToken
  },"lock_id":${draft.lockId === null ? "null" : `"${draft.lockId}"`},"details":${JSON.stringify(
    draft.details,
  )},"prev_hash":"${head.hash}"`;
}

/** Mostly it is the same one again. */
let lastOwner = "";
let lastHolderId = "";
let lastWho = `"owner":"","holder_id":""`;

function whoIn({ owner, holderId }: AuditDraft): string {
  if (owner !== lastOwner || holderId !== lastHolderId) {
    lastOwner = owner;
    lastHolderId = holderId;
    lastWho = `"owner":${JSON.stringify(owner)},"holder_id":${JSON.stringify(holderId)}`;
  }
  return lastWho;
}

function sha256(text: string): string {
  return digest("sha256", text, "hex");
}

export interface ChainedEntry {
  /** The entry as one line of JSON. */
  readonly line: string;
  readonly head: ChainHead;
}

/** Puts an entry at the end of a chain. */
export function chain(head: ChainHead, draft: AuditDraft): ChainedEntry {
  const body = bodyOf(head, draft);
  const hash = sha256(`${body}}`);
  return { line: `${body},"hash":"${hash}"}`, head: { seq: head.seq + 1, hash } };
}

const HASH_SUFFIX = /,"hash":"([0-9a-f]{64})"\}$/;

/** The head after this line, or null when the line does not continue `head` untouched. */
export function follow(head: ChainHead, line: string): ChainHead | null {
  const match = HASH_SUFFIX.exec(line);
  if (match === null) return null;
  const body = `${line.slice(0, match.index)}}`;
  const hash = sha256(body);
  // mutant: audit-hash-file: if (hash !== match[1] || → if (
  if (hash !== match[1] || !body.startsWith(`{"seq":${head.seq + 1},`)) return null;
  // mutant: audit-chain: return body.endsWith( → return head.seq >= 0 || body.endsWith(
  return body.endsWith(`,"prev_hash":"${head.hash}"}`) ? { seq: head.seq + 1, hash } : null;
}

export interface AuditFilter {
  /** A key: entries on it and below it. */
  readonly resource?: string;
  readonly owner?: string;
  readonly event?: AuditEvent;
  readonly since?: Date;
  readonly until?: Date;
  /** Somewhere in the entry, in large letters or small. */
  readonly text?: string;
}

export function matches(entry: AuditEntry, filter: AuditFilter): boolean {
  const { resource, owner, event, since, until, text } = filter;
  if (resource !== undefined && !isAbout(entry, resource)) return false;
  if (owner !== undefined && entry.owner !== owner) return false;
  if (event !== undefined && entry.event !== event) return false;
  if (since !== undefined && entry.at < since.toISOString()) return false;
  if (until !== undefined && entry.at > until.toISOString()) return false;
  return text === undefined || JSON.stringify(entry).toLowerCase().includes(text.toLowerCase());
}

/** A damaged entry may be about any key of its tree. */
function isAbout(entry: AuditEntry, resource: string): boolean {
  // mutant: damaged-of-any-key: entry.event === "damaged" && isWithin(resource, entry.resource) → entry.event === resource
  return isWithin(entry.resource, resource) || (entry.event === "damaged" && isWithin(resource, entry.resource));
}
