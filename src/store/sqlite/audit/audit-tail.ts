/**
 * Appends to a chain of audit entries. The newest entries stand in the row of their tree, which a step writes anyway;
 * when they fill its page they move into `audit` as one block. So the cost of a page for the trail is paid once in a
 * dozen entries.
 */
import { type AuditDraft, chain } from "../../../lock/audit.js";
import type { Database } from "../connection/database.js";
import type { Statement } from "../connection/statement.js";
import type { Tree } from "../grants/tree.js";
import { firstLine, nextLine } from "./entry-lines.js";

/** What the page of a tree's row has room for, beside its name and its other fields. */
const BLOCK_BYTES = 1_880;

export class AuditTail {
  readonly #moveKept: Statement;
  readonly #moveAdded: Statement;

  constructor(database: Database) {
    const insert = "INSERT INTO audit (tree, first_seq, entries)";
    this.#moveKept = database.prepare(`${insert} SELECT tree, ?, tail || ? FROM trees WHERE id = ?`);
    this.#moveAdded = database.prepare(`${insert} VALUES (?, ?, ?)`);
  }

  /** Adds to a tree that is being changed; it is written with the tree. */
  append(tree: Tree, draft: AuditDraft): void {
    const previous = tree.head;
    tree.head = chain(previous, draft).head;
    let line = nextLine(draft, tree.head.hash, tree.lastEntry);
    if (tree.tailBytes === 0 || tree.tailBytes + line.length > BLOCK_BYTES - tree.name.length) {
      if (tree.tailBytes > 0) this.#moveAway(tree);
      tree.tailSeq = tree.head.seq;
      tree.tailBytes = 0;
      line = firstLine(draft, tree.head.hash, previous.hash);
    }
    tree.added += line;
    // Characters for bytes: what is not plain ASCII makes a block a little longer than meant, which does no harm.
    tree.tailBytes += line.length;
    tree.lastEntry = draft;
  }

  #moveAway(tree: Tree): void {
    if (tree.isTailNew) this.#moveAdded.get(tree.name, tree.tailSeq, tree.added);
    else this.#moveKept.get(tree.tailSeq, tree.added, tree.id);
    tree.isTailNew = true;
    tree.added = "";
  }
}
