/** Reads a chain of audit entries from its start, when the tree's own record cannot be relied on. */
import {
  type AuditEntry,
  type AuditEvent,
  type ChainHead,
  EMPTY_CHAIN,
  follow,
  parseEntry,
} from "../../../lock/audit.js";
import { AuditFile } from "./audit-file.js";

export interface ChainEnd extends ChainHead {
  readonly bytes: number;
}

/**
 * Where the chain that was counted to `counted` ends after a restart. What did not reach the disk is missing or zero, and
 * the chain ends before it. An entry that is neither, and still wrong, was altered by somebody: it stays for
 * `audit verify` to name.
 */
export function endAfterRestart(path: string, counted: ChainEnd): ChainEnd {
  let end: ChainEnd = { ...EMPTY_CHAIN, bytes: 0 };
  for (const { text, end: bytes } of AuditFile.lines(path, 0, counted.bytes)) {
    const next = follow(end, text);
    if (next === null) return text.includes("\0") ? end : counted;
    end = { ...next, bytes };
  }
  return end;
}

export interface ChainStory {
  readonly end: ChainEnd;
  readonly highestToken: number;
  /** Of each grant that never ended, the entry that made it. */
  readonly live: readonly AuditEntry[];
}

/** All that a chain tells. */
export function readStory(path: string, upTo: number): ChainStory {
  let end: ChainEnd = { ...EMPTY_CHAIN, bytes: 0 };
  let highestToken = 0;
  const live = new Map<unknown, AuditEntry>();
  for (const { text, end: bytes } of AuditFile.lines(path, 0, upTo)) {
    const next = follow(end, text);
    if (next === null) break;
    end = { ...next, bytes };
    const entry = parseEntry(text);
    highestToken = Math.max(highestToken, entry.fencing_token ?? 0, Number(entry.details.new_fencing_token ?? 0));
    if (BEGINNINGS.has(entry.event)) live.set(entry.lock_id, entry);
    if (ENDINGS.has(entry.event)) live.delete(entry.lock_id);
    live.delete(entry.details.old_lock_id);
  }
  return { end, highestToken, live: [...live.values()] };
}

const BEGINNINGS: ReadonlySet<AuditEvent> = new Set(["granted", "resumed"]);
const ENDINGS: ReadonlySet<AuditEvent> = new Set(["released", "recovered", "stolen", "broken"]);
