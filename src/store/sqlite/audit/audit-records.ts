/**
 * Reads chains of audit entries: the blocks in `audit`, then the tail in the tree's row. All functions here must be
 * called inside one reading.
 */

import { type AuditEntry, type ChainHead, chain, EMPTY_CHAIN, matches } from "../../../lock/audit.js";
import type { Key } from "../../../lock/key.js";
import type { AuditPage, BadEntry } from "../../contract.js";
import type { Database } from "../connection/database.js";
import type { Statement } from "../connection/statement.js";
import { type KeptEntry, readLines, toEntry } from "./entry-lines.js";

const BLOCKS_AT_ONCE = 100;

interface Block {
  readonly firstSeq: number;
  readonly text: string;
}

export class AuditRecords {
  readonly #heads: Statement;
  readonly #head: Statement;
  readonly #tail: Statement;
  readonly #blocks: Statement;
  readonly #blockOf: Statement;

  constructor(database: Database) {
    // A chain whose row is gone still has its blocks, and must not escape the check for that. Names are sought one by
    // one, since a chain has many blocks.
    this.#heads = database.prepare(
      `WITH RECURSIVE chains (tree) AS (
         SELECT min(tree) FROM audit UNION ALL
         SELECT (SELECT min(tree) FROM audit WHERE audit.tree > chains.tree) FROM chains WHERE tree IS NOT NULL)
       SELECT tree, 0 FROM chains WHERE tree IS NOT NULL AND tree NOT IN (SELECT tree FROM trees) UNION ALL
       SELECT tree, audit_seq FROM trees WHERE audit_seq > 0`,
    );
    this.#head = database.prepare("SELECT audit_seq, audit_hash FROM trees WHERE tree = ?");
    this.#tail = database.prepare("SELECT tail_seq, tail FROM trees WHERE tree = ?");
    this.#blocks = database.prepare(
      "SELECT first_seq, entries FROM audit WHERE tree = ? AND first_seq >= ? ORDER BY first_seq LIMIT ?",
    );
    this.#blockOf = database.prepare("SELECT max(first_seq) FROM audit WHERE tree = ? AND first_seq <= ?");
  }

  heads(): Map<Key, number> {
    return new Map(this.#heads.all().map(([tree, seq]) => [tree as Key, seq as number]));
  }

  read(page: AuditPage): AuditEntry[] {
    const found: AuditEntry[] = [];
    let previousHash = EMPTY_CHAIN.hash;
    for (const { firstSeq, text } of this.#blocksFrom(page.tree, page.afterSeq + 1))
      for (const kept of readLines(text, firstSeq)) {
        const entry = toEntry(kept, kept.previousHash ?? previousHash, page.tree);
        previousHash = kept.hash;
        if (kept.seq > page.afterSeq && matches(entry, page)) found.push(entry);
        if (found.length === page.limit) return found;
      }
    return found;
  }

  /** The blocks that have the entries from `seq` on; the last is the tail. */
  *#blocksFrom(tree: Key, seq: number): Generator<Block> {
    let from = Number(this.#blockOf.get(tree, seq)?.[0] ?? 0);
    for (;;) {
      const rows = this.#blocks.all(tree, from, BLOCKS_AT_ONCE);
      for (const [firstSeq, text] of rows) yield { firstSeq: firstSeq as number, text: String(text) };
      const last = rows.at(-1);
      if (last === undefined) break;
      from = (last[0] as number) + 1;
    }
    const tail = this.#tail.get(tree);
    if (tail !== undefined && tail[1] !== "") yield { firstSeq: tail[0] as number, text: String(tail[1]) };
  }

  /** Goes through the whole chain and compares its end with the head, which is kept apart. */
  check(tree: Key): { entries: number; bad: BadEntry | null } {
    const [seq, hash] = (this.#head.get(tree) ?? [EMPTY_CHAIN.seq, EMPTY_CHAIN.hash]) as [number, string];
    let head = EMPTY_CHAIN;
    const bad = (why: string) => ({ entries: head.seq, bad: { tree, seq: head.seq + 1, why } });
    try {
      for (const { firstSeq, text } of this.#blocksFrom(tree, 0)) {
        if (firstSeq !== head.seq + 1) return bad("entries are missing or out of place");
        for (const kept of readLines(text, firstSeq)) {
          const next = head.seq === seq ? null : follow(head, kept);
          if (next === null) return bad(kept.draft === null ? "altered" : "altered or out of place");
          head = next;
        }
      }
    } catch {
      return bad("altered");
    }
    return head.seq === seq && head.hash === hash ? { entries: seq, bad: null } : bad("the end is missing");
  }
}

/** The head after this entry, or null when it does not continue `head` untouched. */
function follow(head: ChainHead, { draft, hash, previousHash, isExact }: KeptEntry): ChainHead | null {
  if (draft === null || !isExact || (previousHash !== null && previousHash !== head.hash)) return null;
  const next = chain(head, draft).head;
  // mutant: audit-hash-sqlite: return next.hash === hash ? next : null; → return next;
  return next.hash === hash ? next : null;
}
