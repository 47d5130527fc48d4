/**
 * Encodes audit entries as the database keeps them: one line of JSON each, a list of fields in fixed order, as short as
 * possible, because the newest are rewritten with every step.
 *
 *   [at, event, resource, owner, holder_id, fencing_token, lock_id, details, hash]
 *
 * `0` stands for the same value as in the line before; none of these fields can have the value 0. The position of a line
 * gives its number, and the previous hash is in the line before; only the first line of a block has that hash itself, as a
 * tenth field. Nothing is lost: the entry that was hashed can be rebuilt from these lines.
 */
import type { AuditDraft, AuditEntry, AuditEvent } from "../../../lock/audit.js";
import type { Key } from "../../../lock/key.js";
import { checkedEntry, damagedEntry } from "../../../lock/stored-entry.js";
import { isoTime } from "../../../lock/time.js";

export interface KeptEntry {
  readonly seq: number;
  readonly line: string;
  /** Null when the line is not a list of fields. A field that cannot be told, because the line before it is damaged, is undefined. */
  readonly draft: AuditDraft | null;
  readonly hash: string;
  /** Only with the first of a block. */
  readonly previousHash: string | null;
  /** False when the line is not, byte for byte, what these functions write. */
  readonly isExact: boolean;
}

export function firstLine(draft: AuditDraft, hash: string, previousHash: string): string {
  return `${fieldsOf(draft, null)},"${hash}","${previousHash}"]\n`;
}

/** `before` is the entry before it in the same block, or null to write every field out. */
export function nextLine(draft: AuditDraft, hash: string, before: AuditDraft | null): string {
  return `${fieldsOf(draft, before)},"${hash}"]\n`;
}

function fieldsOf(draft: AuditDraft, before: AuditDraft | null): string {
  return `[${draft.at},"${draft.event}",${
    draft.resource === before?.resource ? 0 : `"${draft.resource}"`
  },${draft.owner === before?.owner ? 0 : JSON.stringify(draft.owner)},${
    draft.holderId === before?.holderId ? 0 : JSON.stringify(draft.holderId)
  },${draft.fencingToken === before?.fencingToken ? 0 : draft.fencingToken},${
    draft.lockId === null ? null : draft.lockId === before?.lockId ? 0 : `"${draft.lockId}"`
  },${JSON.stringify(draft.details)}`;
}

type Fields = readonly [
  at: number,
  event: AuditEvent,
  resource: Key | 0,
  owner: string | 0,
  holderId: string | 0,
  fencingToken: number | 0 | null,
  lockId: string | 0 | null,
  details: AuditDraft["details"],
  hash: string,
  previousHash?: string,
];

/** Returns the entries of a block, one by one. */
export function* readLines(block: string, firstSeq: number): Generator<KeptEntry> {
  let before: AuditDraft | null = null;
  let seq = firstSeq;
  for (let start = 0; start < block.length; seq += 1) {
    const end = block.indexOf("\n", start) + 1;
    const line = block.slice(start, end === 0 ? undefined : end);
    const entry: KeptEntry = readLineOrNone(line, seq, before);
    yield entry;
    before = entry.draft;
    start += line.length;
  }
}

function readLineOrNone(line: string, seq: number, before: AuditDraft | null): KeptEntry {
  try {
    return readLine(line, seq, before);
  } catch {
    return { seq, line, draft: null, hash: "", previousHash: null, isExact: false };
  }
}

function readLine(line: string, seq: number, before: AuditDraft | null): KeptEntry {
  const [at, event, resource, owner, holderId, fencingToken, lockId, details, hash, previousHash] = JSON.parse(
    line,
  ) as Fields;
  const same: Partial<AuditDraft> = before ?? {};
  const draft = {
    at,
    event,
    resource: resource === 0 ? same.resource : resource,
    owner: owner === 0 ? same.owner : owner,
    holderId: holderId === 0 ? same.holderId : holderId,
    fencingToken: fencingToken === 0 ? same.fencingToken : fencingToken,
    lockId: lockId === 0 ? same.lockId : lockId,
    details,
  } as AuditDraft;
  const own = previousHash === undefined ? nextLine(draft, hash, before) : firstLine(draft, hash, previousHash);
  const isExact = line === own || line === nextLine(draft, hash, null);
  return { seq, line, draft, hash, previousHash: previousHash ?? null, isExact };
}

/** Returns the entry, a damaged one when what is kept is not one. */
export function toEntry({ seq, line, draft, hash }: KeptEntry, previousHash: string, tree: Key): AuditEntry {
  if (draft === null) return damagedEntry(line, { tree, seq }, "it is not a list of fields");
  const entry = {
    seq,
    at: timeOf(draft.at),
    event: draft.event,
    resource: draft.resource,
    owner: draft.owner,
    holder_id: draft.holderId,
    fencing_token: draft.fencingToken,
    lock_id: draft.lockId,
    details: draft.details,
    prev_hash: previousHash,
    hash,
  };
  return checkedEntry(entry, line, { tree, seq });
}

/** Returns null for a number that is not a time. */
function timeOf(at: unknown): string | null {
  return Number.isSafeInteger(at) && Math.abs(at as number) <= LAST_TIME ? isoTime(at as number) : null;
}

/** The last moment that a `Date` can have. */
const LAST_TIME = 8.64e15;
