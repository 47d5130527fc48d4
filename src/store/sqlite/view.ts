/**
 * The view of the guard that a step reads: one object for all steps of a connection, since there is only ever one step
 * at a time.
 */
import type { Neighbourhood } from "../../lock/decide.js";
import type { Grant, Ticket } from "../../lock/grant.js";
import { isWithin, type Key, treeOf } from "../../lock/key.js";
import type { Manifest } from "../../lock/manifest.js";
import { type Line, lineOf, NOBODY_WAITS } from "../../lock/queue.js";
import type { Instant } from "../../lock/time.js";
import type { LedgerView } from "../ledger.js";
import { inOrder } from "../local/stable-order.js";
import type { FoundGrants } from "./grants/grant-rows.js";
import { noteFound, type Tree } from "./grants/tree.js";
import type { Tables } from "./tables.js";

const NOTHING_NEAR: Neighbourhood = { grants: [], line: NOBODY_WAITS, unreadable: [] };
const NOTHING_PENDING: readonly Manifest[] = [];
const NEVER: Instant = { wallMs: 0, bootMs: 0, bootId: "", machineId: "" };

export class StepView implements LedgerView {
  readonly #tables: Tables;
  #now: Instant = NEVER;
  #trees: readonly Key[] = [];

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  /** The view of the step that begins now. */
  at(now: Instant, trees: readonly Key[]): LedgerView {
    this.#now = now;
    this.#trees = trees;
    return this;
  }

  get now(): Instant {
    return this.#now;
  }

  near(keys: readonly Key[]): Neighbourhood {
    const [only] = keys;
    if (keys.length === 1 && only !== undefined) {
      const { held, waiting, grants } = this.#treeOf(only);
      if (waiting === 0 && held === 0) return NOTHING_NEAR;
      if (waiting === 0 && grants !== null)
        return inOrder({ grants: around(only, grants), line: NOBODY_WAITS, unreadable: [] });
    }
    return inOrder(this.#look(keys));
  }

  #lineOf(keys: readonly Key[]): Line {
    const waited = keys.filter((key) => this.#treeOf(key).waiting > 0);
    const [only] = waited;
    if (only === undefined) return NOBODY_WAITS;
    if (waited.length === 1) return this.#tables.tickets.lineAround(only);
    const tickets = new Map<string, Ticket>();
    for (const key of waited) this.#tables.tickets.findAround(key, tickets);
    return lineOf(tickets.values());
  }

  find(resource: Key, lockId: string): Grant | null {
    const tree = this.#treeOf(resource);
    if (tree.grants !== null) return tree.grants.get(lockId) ?? null;
    const found = this.#tables.grants.find(lockId);
    if (found !== null) noteFound(tree, found);
    return found;
  }

  mint(tree: Key, above = 0): number {
    return this.#tables.fences.mint(tree, this.#now, above);
  }

  nextTicketNumber(): number {
    return Math.max(...this.#trees.map((tree) => this.#tables.trees.at(tree).lastTicket)) + 1;
  }

  publishing(keys: readonly Key[]): readonly Manifest[] {
    const published = keys.filter((key) => this.#treeOf(key).publishing > 0);
    return published.length === 0 ? NOTHING_PENDING : this.#tables.manifests.pendingNear(published);
  }

  manifestsOf(target: string): readonly Manifest[] {
    return this.#tables.manifests.of(target);
  }

  #treeOf(key: Key): Tree {
    return this.#tables.trees.at(treeOf(key));
  }

  #look(keys: readonly Key[]): Neighbourhood {
    const found: FoundGrants = { grants: new Map(), unreadable: [] };
    for (const key of keys) if (this.#treeOf(key).held > 0) this.#tables.grants.findAround(key, found);
    return { grants: [...found.grants.values()], line: this.#lineOf(keys), unreadable: found.unreadable };
  }
}

function around(key: Key, grants: ReadonlyMap<string, Grant>): Grant[] {
  const found: Grant[] = [];
  for (const grant of grants.values())
    if (isWithin(grant.resource, key) || isWithin(key, grant.resource)) found.push(grant);
  return found;
}
