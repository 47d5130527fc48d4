/** Reads a chain of audit entries from its start, when the tree's own record cannot be relied on. */
import { type AuditEntry, type ChainHead, EMPTY_CHAIN, follow } from "../../../lock/audit.js";
import type { Key } from "../../../lock/key.js";
import { readEntry } from "../../../lock/stored-entry.js";
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
  /** True when the last entry says that the record of the tree was lost. */
  readonly endsWithLoss: boolean;
}

/** The `reason` in the entry `chain_repaired` of a tree whose record was begun anew (initial-tree.ts). */
export const RECORD_LOST = "the record of the tree was lost";

/** Returns what the entries of a chain say. */
export function readStory(path: string, upTo: number, tree: Key): ChainStory {
  let end: ChainEnd = { ...EMPTY_CHAIN, bytes: 0 };
  let highestToken = 0;
  let endsWithLoss = false;
  const live = new Map<unknown, AuditEntry>();
  for (const { text, end: bytes } of AuditFile.lines(path, 0, upTo)) {
    const next = follow(end, text);
    if (next === null) break;
    const entry = readEntry(text, { tree, seq: next.seq });
    if (entry.event === "damaged") break;
    end = { ...next, bytes };
    const { event, details, lock_id: lockId } = entry;
    highestToken = Math.max(highestToken, entry.fencing_token ?? 0, Number(details.new_fencing_token ?? 0));
    if (BEGINNINGS.has(event)) live.set(lockId, entry);
    if (ENDINGS.has(event)) live.delete(lockId);
    live.delete(details.old_lock_id);
    endsWithLoss = event === "chain_repaired" && details.reason === RECORD_LOST;
    // mutant: file-lost-record-held: endAllBut(live, details.held); → endAllBut(live, []);
    // mutant: file-lost-record-ends: if (endsWithLoss) endAllBut(live, details.held); → void endAllBut;
    if (endsWithLoss) endAllBut(live, details.held);
  }
  return { end, highestToken, live: [...live.values()], endsWithLoss };
}

/** Grants that a lost record had are over. The entry that says so names those that have a file of their own. */
function endAllBut(live: Map<unknown, AuditEntry>, held: unknown): void {
  const ids: readonly unknown[] = Array.isArray(held) ? held : [];
  for (const id of live.keys()) if (!ids.includes(id)) live.delete(id);
}

const BEGINNINGS: ReadonlySet<AuditEntry["event"]> = new Set(["granted", "resumed"]);
const ENDINGS: ReadonlySet<AuditEntry["event"]> = new Set(["released", "recovered", "stolen", "broken"]);
