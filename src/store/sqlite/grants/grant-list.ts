/**
 * Lists grants in the order of keys, a page at a time. The grants below the top are in an index of that order. Those on
 * top-level keys are not, so the trees are read in their order; the two are merged.
 */
import type { Grant } from "../../../lock/grant.js";
import type { Key } from "../../../lock/key.js";
import { lockIdPrefix } from "../../../lock/lock-id.js";
import type { ListPage } from "../../contract.js";
import type { Database } from "../connection/database.js";
import type { Row, Statement } from "../connection/statement.js";
import type { Boots } from "./boots.js";
import { COLUMNS, toGrant } from "./grant-columns.js";
import { BEHIND_ALL } from "./grant-rows.js";

const TREES_AT_ONCE = 100;
/** Sorts behind every character of a key. */
const BEHIND_ALL_KEYS = "\x7f";

interface Place {
  readonly resource: string;
  readonly lockId: string;
}

export class GrantList {
  readonly #boots: Boots;
  readonly #selectTops: Statement;
  readonly #selectBelow: Statement;
  readonly #selectTrees: Statement;

  constructor(database: Database, boots: Boots) {
    this.#boots = boots;
    const select = `SELECT ${COLUMNS} FROM dal_locks WHERE`;
    // One statement for many trees: each costs less to look up than a statement costs to run.
    this.#selectTops = database.prepare(
      `SELECT ${COLUMNS} FROM json_each(?) AS wanted CROSS JOIN dal_locks
       WHERE lock_id > wanted.value ->> 0 AND lock_id < wanted.value ->> 1 AND resource = wanted.value ->> 2
       ORDER BY resource, lock_id LIMIT ?`,
    );
    this.#selectBelow = database.prepare(
      `${select} instr(resource, '/') AND resource >= ? AND resource < ? AND (resource, lock_id) > (?, ?)
       ORDER BY resource, lock_id LIMIT ?`,
    );
    this.#selectTrees = database.prepare(
      "SELECT tree, held FROM trees WHERE tree > ? AND tree < ? ORDER BY tree LIMIT ?",
    );
  }

  /** What cannot be read is passed over. */
  page({ prefix, stem = "", after, limit }: ListPage): Grant[] {
    const found: Grant[] = [];
    const end = stem + BEHIND_ALL_KEYS;
    for (let behind: Place = after ?? { resource: stem, lockId: "" }; found.length < limit; ) {
      const rows = [...this.#tops(prefix, behind, end, limit), ...this.#below(prefix, behind, end, limit)]
        .sort(byPlace)
        .slice(0, limit - found.length);
      for (const row of rows) this.#decode(row, found);
      const last = rows.at(-1);
      if (last === undefined) break;
      behind = { resource: last[1] as string, lockId: last[0] as string };
    }
    return found;
  }

  #tops(prefix: Key | null, behind: Place, end: string, limit: number): Row[] {
    if (prefix !== null) return this.#topsOf([prefix], behind, limit);
    const found = this.#topsOf([behind.resource], behind, limit);
    for (let tree = behind.resource; found.length < limit; ) {
      const trees = this.#selectTrees.all(tree, end, TREES_AT_ONCE);
      const held = trees.flatMap(([name, count]) => (count === 0 ? [] : [name as string]));
      found.push(...this.#topsOf(held, behind, limit));
      const last = trees.at(-1);
      if (last === undefined) break;
      tree = last[0] as string;
    }
    return found;
  }

  #topsOf(trees: readonly string[], behind: Place, limit: number): Row[] {
    const wanted = trees.flatMap((tree) => {
      if (tree < behind.resource || tree.includes("/")) return [];
      const prefix = lockIdPrefix(tree);
      const from = tree === behind.resource && behind.lockId > prefix ? behind.lockId : prefix;
      return [[from, prefix + BEHIND_ALL, tree]];
    });
    return wanted.length === 0 ? [] : this.#selectTops.all(JSON.stringify(wanted), limit);
  }

  #below(prefix: Key | null, { resource, lockId }: Place, end: string, limit: number): Row[] {
    if (prefix === null) return this.#selectBelow.all(resource, end, resource, lockId, limit);
    // A blank sorts before every character of a key: the first range holds the prefix itself and nothing else.
    const at = this.#selectBelow.all(prefix, `${prefix} `, resource, lockId, limit);
    return at.concat(this.#selectBelow.all(`${prefix}/`, `${prefix}0`, resource, lockId, limit));
  }

  #decode(row: Row, found: Grant[]): void {
    try {
      found.push(toGrant(row, this.#boots));
    } catch {
      // Inspecting its key reports it as unreadable.
    }
  }
}

function byPlace(a: Row, b: Row): number {
  const [aId, aResource] = a as [string, string];
  const [bId, bResource] = b as [string, string];
  if (aResource !== bResource) return aResource < bResource ? -1 : 1;
  return aId < bId ? -1 : 1;
}
