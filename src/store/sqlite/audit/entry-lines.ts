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
import { isoTime } from "../../../lock/time.js";

export interface KeptEntry {
  readonly seq: number;
  readonly draft: AuditDraft;
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

/** The entries of a block, one by one. Throws a plain `Error` at the first that is no entry at all. */
export function* readLines(block: string, firstSeq: number): Generator<KeptEntry> {
  let before: AuditDraft | null = null;
  let seq = firstSeq;
  for (let start = 0; start < block.length; seq += 1) {
    const end = block.indexOf("\n", start) + 1;
    const line = block.slice(start, end === 0 ? undefined : end);
    const entry: KeptEntry = readLine(line, seq, before);
    yield entry;
    before = entry.draft;
    start += line.length;
  }
}

function readLine(line: string, seq: number, before: AuditDraft | null): KeptEntry {
  const [at, event, resource, owner, holderId, fencingToken, lockId, details, hash, previousHash] = JSON.parse(
    line,
  ) as Fields;
  const same = before ?? { resource: "" as Key, owner: "", holderId: "", fencingToken: 0, lockId: "" };
  const draft: AuditDraft = {
    at,
    event,
    resource: resource === 0 ? same.resource : resource,
    owner: owner === 0 ? same.owner : owner,
    holderId: holderId === 0 ? same.holderId : holderId,
    fencingToken: fencingToken === 0 ? same.fencingToken : fencingToken,
    lockId: lockId === 0 ? same.lockId : lockId,
    details,
  };
  const own = previousHash === undefined ? nextLine(draft, hash, before) : firstLine(draft, hash, previousHash);
  const isExact = line === own || line === nextLine(draft, hash, null);
  return { seq, draft, hash, previousHash: previousHash ?? null, isExact };
}

export function toEntry({ seq, draft, hash }: KeptEntry, previousHash: string): AuditEntry {
  return {
    seq,
    at: isoTime(draft.at),
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
}
