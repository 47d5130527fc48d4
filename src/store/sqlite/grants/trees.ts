/**
 * The rows of trees, which change with every step. They are remembered between steps, together with the grants of a
 * tree where all of them are known, so an undisturbed step reads nothing. SQLite reports whether any other connection
 * has committed since: it finds that out for its own page cache, inside the transaction that asks. Then all is
 * forgotten.
 */
import type { Key } from "../../../lock/key.js";
import type { Database } from "../connection/database.js";
import type { Statement } from "../connection/statement.js";
import { newTree, type Tree } from "./tree.js";

const MAX_TREES = 1_000;

export class Trees {
  readonly #dataVersion: Statement;
  readonly #select: Statement;
  readonly #insert: Statement;
  readonly #append: Statement;
  readonly #replace: Statement;
  readonly #reserve: Statement;
  readonly #known = new Map<Key, Tree>();
  readonly #changed: Tree[] = [];
  #seenVersion = -1;
  #memory = 0;

  constructor(database: Database) {
    this.#dataVersion = database.prepare("PRAGMA data_version");
    this.#select = database.prepare(
      `SELECT id, fence, fence_reserved, boot, held, waiting, last_ticket, audit_seq, audit_hash, tail_seq,
         octet_length(tail), publishing FROM trees WHERE tree = ?`,
    );
    this.#insert = database.prepare(
      `INSERT INTO trees (tree, fence, fence_reserved, boot, held, waiting, last_ticket, audit_seq, audit_hash, tail_seq,
         tail, publishing) VALUES (?, 0, 0, 0, 0, 0, 0, ?, ?, 0, '', 0) RETURNING id`,
    );
    const update = `UPDATE trees SET fence = ?, held = ?, waiting = ?, last_ticket = ?, audit_seq = ?, audit_hash = ?,
      tail_seq = ?, publishing = ?`;
    this.#append = database.prepare(`${update}, tail = tail || ? WHERE id = ?`);
    this.#replace = database.prepare(`${update}, tail = ? WHERE id = ?`);
    this.#reserve = database.prepare("UPDATE trees SET fence_reserved = ?, boot = ? WHERE id = ?");
  }

  /** Another number once what was remembered may be wrong: for whatever else is remembered beside trees. */
  get memory(): number {
    return this.#memory;
  }

  /** Call it first in every write transaction. */
  begin(): void {
    const version = this.#dataVersion.get()?.[0] as number;
    // mutant: remembered-trees: if (version === this.#seenVersion && → if (this.#seenVersion >= 0 &&
    if (version === this.#seenVersion && this.#known.size < MAX_TREES) return;
    this.#forget();
    this.#seenVersion = version;
  }

  at(name: Key): Tree {
    let tree = this.#known.get(name);
    if (tree === undefined) {
      tree = this.read(name) ?? newTree(name);
      this.#known.set(name, tree);
    }
    return tree;
  }

  /** As it is on record, without remembering it. */
  read(name: Key): Tree | null {
    const row = this.#select.get(name);
    if (row === undefined) return null;
    const tree = newTree(name);
    tree.id = row[0] as number;
    tree.fence = row[1] as number;
    tree.reserved = row[2] as number;
    tree.boot = row[3] as number;
    tree.held = row[4] as number;
    tree.waiting = row[5] as number;
    tree.lastTicket = row[6] as number;
    tree.head = { seq: row[7] as number, hash: row[8] as string };
    tree.tailSeq = row[9] as number;
    tree.tailBytes = row[10] as number;
    tree.publishing = row[11] as number;
    if (tree.held !== 0) tree.grants = null;
    return tree;
  }

  /** The tree, to be changed now and written at the end of the step. */
  change(name: Key): Tree {
    const tree = this.at(name);
    if (tree.isChanged) return tree;
    tree.isChanged = true;
    this.#changed.push(tree);
    if (tree.id === 0) tree.id = this.#insert.get(name, tree.head.seq, tree.head.hash)?.[0] as number;
    return tree;
  }

  /** Writes what was changed: call it last in the transaction. */
  write(): void {
    for (const tree of this.#changed) {
      const update = tree.isTailNew ? this.#replace : this.#append;
      update.get(
        tree.fence,
        tree.held,
        tree.waiting,
        tree.lastTicket,
        tree.head.seq,
        tree.head.hash,
        tree.tailSeq,
        tree.publishing,
        tree.added,
        tree.id,
      );
    }
  }

  /** The two fields that only a reservation changes. */
  writeReservation({ id, reserved, boot }: Tree): void {
    this.#reserve.get(reserved, boot, id);
  }

  committed(): void {
    for (const tree of this.#changed) {
      tree.isChanged = false;
      tree.isTailNew = false;
      tree.added = "";
    }
    this.#changed.length = 0;
  }

  /** After a rollback of a step that changed nothing but what it had marked to be changed. */
  abandoned(): void {
    for (const tree of this.#changed) this.#known.delete(tree.name);
    this.#changed.length = 0;
  }

  /** After any other rollback. */
  forget(): void {
    this.#forget();
    this.#changed.length = 0;
  }

  #forget(): void {
    this.#known.clear();
    this.#memory += 1;
  }
}
