/** What the guard shows: one object for all steps of a connection, since there is only ever one step at a time. */
import type { Neighbourhood } from "../../lock/decide.js";
import type { Grant, Ticket } from "../../lock/grant.js";
import { isWithin, type Key, treeOf } from "../../lock/key.js";
import type { Manifest } from "../../lock/manifest.js";
import type { Instant } from "../../lock/time.js";
import { inOrder } from "../in-order.js";
import type { LedgerView } from "../ledger.js";
import type { FoundGrants } from "./grant-rows.js";
import type { Tables } from "./tables.js";
import type { Tree } from "./tree.js";

const NOTHING_NEAR: Neighbourhood = { grants: [], tickets: [], unreadable: [] };
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
        return inOrder({ grants: around(only, grants), tickets: [], unreadable: [] });
    }
    return inOrder(this.#look(keys));
  }

  find(resource: Key, lockId: string): Grant | null {
    const { grants } = this.#treeOf(resource);
    return grants === null ? this.#tables.grants.find(lockId) : (grants.get(lockId) ?? null);
  }

  mint(tree: Key): number {
    return this.#tables.fences.mint(tree, this.#now);
  }

  nextTicketNumber(): number {
    return Math.max(...this.#trees.map((tree) => this.#tables.trees.at(tree).lastTicket)) + 1;
  }

  publishing(keys: readonly Key[]): readonly Manifest[] {
    return this.#tables.manifests.pendingNear(keys);
  }

  manifestsOf(target: string): readonly Manifest[] {
    return this.#tables.manifests.of(target);
  }

  #treeOf(key: Key): Tree {
    return this.#tables.trees.at(treeOf(key));
  }

  #look(keys: readonly Key[]): Neighbourhood {
    const found: FoundGrants = { grants: new Map(), unreadable: [] };
    const tickets = new Map<string, Ticket>();
    for (const key of keys) {
      const { held, waiting } = this.#treeOf(key);
      if (held > 0) this.#tables.grants.findAround(key, found);
      if (waiting > 0) this.#tables.tickets.findAround(key, tickets);
    }
    return { grants: [...found.grants.values()], tickets: [...tickets.values()], unreadable: found.unreadable };
  }
}

function around(key: Key, grants: ReadonlyMap<string, Grant>): Grant[] {
  const found: Grant[] = [];
  for (const grant of grants.values())
    if (isWithin(grant.resource, key) || isWithin(key, grant.resource)) found.push(grant);
  return found;
}
