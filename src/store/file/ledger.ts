/** The ledger in plain files: runs steps on one tree or several, each under the guards of its trees. */
import { randomUUID } from "node:crypto";
import { HoldfastError } from "../../base/errors.js";
import { enterAll, leaveAll, tryEnterAll } from "../../files/guard.js";
import type { Neighbourhood } from "../../lock/decide.js";
import type { Grant, Ticket } from "../../lock/grant.js";
import { isWithin, type Key, treeOf } from "../../lock/key.js";
import { type Manifest, treesOfManifest } from "../../lock/manifest.js";
import { lineOf, lineWithout } from "../../lock/queue.js";
import type { Settings } from "../../lock/settings.js";
import type { Instant } from "../../lock/time.js";
import type { Clock } from "../../platform/clock.js";
import { durabilityOf } from "../durability.js";
import type { Changes, Ledger, LedgerRecords, LedgerView, Outcome } from "../ledger.js";
import { inOrder } from "../local/stable-order.js";
import { adoptWorkspace } from "./first-workspace.js";
import { type Layout, treeFolder } from "./layout.js";
import { ManifestFiles } from "./publish/manifest-files.js";
import { ManifestGuard } from "./publish/manifest-guard.js";
import { createFileRecords } from "./records.js";
import type { StorePlace } from "./store-place.js";
import { Decisions } from "./tree/decisions.js";
import type { FenceFloor } from "./tree/fence-floor.js";
import { nothingFound } from "./tree/node-files.js";
import { FileTree } from "./tree/tree.js";
import type { TreeChanges, TreeStep } from "./tree/tree-step.js";

/** What is known of a store once it was opened. */
export interface FileStoreFacts {
  readonly url: string;
  readonly id: string;
  readonly settings: Settings;
  readonly layout: Layout;
  readonly place: StorePlace;
}

/** Trees kept open: each has a handful of descriptors. */
const OPEN_TREES = 64;

export class FileLedger implements Ledger {
  readonly url: string;
  readonly id: string;
  readonly settings: Settings;
  readonly records: LedgerRecords;
  readonly callerRows = null;
  readonly scripting = null;
  readonly #layout: Layout;
  readonly #place: StorePlace;
  readonly #clock: Clock;
  readonly #floor: FenceFloor;
  readonly #trees = new Map<Key, FileTree>();
  #steps = 0;
  readonly #decisions: Decisions;
  readonly #manifests: ManifestFiles;
  readonly #manifestGuard: ManifestGuard;
  #isClosed = false;

  constructor({ url, id, settings, layout, place }: FileStoreFacts, floor: FenceFloor, clock: Clock) {
    this.url = url;
    this.id = id;
    this.#place = place;
    this.settings = settings;
    this.records = createFileRecords(layout, clock);
    this.#layout = layout;
    this.#decisions = new Decisions(layout.ops);
    this.#manifests = new ManifestFiles(layout.manifests);
    this.#manifestGuard = new ManifestGuard(layout.manifests);
    this.#clock = clock;
    this.#floor = floor;
  }

  /** A body that turns out to need another tree is run again with the guards of all of them: nothing was written yet. */
  async transact<T>(names: readonly Key[], body: (view: LedgerView) => Outcome<T>): Promise<T> {
    for (let known = names; ; )
      try {
        return await this.#transact(known, body);
      } catch (error) {
        // mutant: file-another-tree: if (!(error instanceof MissingTree)) throw error; → throw error;
        if (!(error instanceof MissingTree)) throw error;
        known = [...known, error.tree].sort();
      }
  }

  async #transact<T>(names: readonly Key[], body: (view: LedgerView) => Outcome<T>): Promise<T> {
    const trees = names.map((name) => this.#tree(name));
    const guards = trees.map((tree) => tree.guard);
    for (const tree of trees) tree.users += 1;
    try {
      if (!tryEnterAll(guards)) await enterAll(guards, names.join(", "));
      try {
        return this.#step(trees, body);
      } finally {
        leaveAll(guards);
      }
    } finally {
      for (const tree of trees) tree.users -= 1;
      this.#closeOldest();
    }
  }

  async adoptWorkspace(id: string): Promise<string> {
    this.assertInPlace();
    return await adoptWorkspace(this.#layout.root, id);
  }

  /** A durable step is on the disk when it ends. */
  async sync(): Promise<void> {}

  assertInPlace(): void {
    this.#place.assert();
  }

  #step<T>(trees: readonly FileTree[], body: (view: LedgerView) => Outcome<T>): T {
    const now = this.#clock();
    for (const tree of trees) tree.load(now);
    try {
      const { result, changes, whenMade } = body(new FileView(trees, now, this.#manifestsOf));
      if (changes !== null) this.#write(trees, changes, whenMade);
      return result;
    } finally {
      this.#manifestGuard.leave();
    }
  }

  held(key: Key, tokenHash: string): Grant | null {
    const kept = this.#tree(treeOf(key)).peek(key, tokenHash);
    if (kept !== null || key === treeOf(key)) return kept || null;
    try {
      const { grants } = this.records.near(key);
      return grants.find((grant) => grant.resource === key && grant.tokenHash === tokenHash) ?? null;
    } catch {
      return null; // Whoever looks asks for the lock next, and is told what is wrong.
    }
  }

  readonly #manifestsOf = (target: string): readonly Manifest[] => {
    this.#manifestGuard.enter();
    return this.#manifests.of(target);
  };

  #write(trees: readonly FileTree[], changes: Changes, whenMade: (() => void) | undefined): void {
    const durable = durabilityOf(changes) !== false;
    const { files, manifestDrops = [] } = changes;
    if (files !== undefined) this.#manifests.addFiles(files.manifest, files.files, durable);
    const steps = [];
    for (const tree of trees) {
      const own = changesIn(tree.name, changes, trees.length === 1);
      if (own !== null) steps.push({ tree, step: tree.step(own, durable) });
    }
    const [first] = steps;
    if (first !== undefined && steps.length === 1) first.tree.commit(first.step);
    else if (steps.length > 1) this.#writeSeveral(steps, durable);
    whenMade?.();
    if (changes.ticketAdds || changes.ticketUpdates || changes.ticketDrops?.length)
      for (const tree of trees) writeTickets(tree, changes);
    for (const manifest of manifestDrops) this.#manifests.drop(manifest);
  }

  #writeSeveral(steps: readonly { tree: FileTree; step: TreeStep }[], durable: boolean): void {
    const id = randomUUID();
    for (const { tree, step } of steps) tree.announce(step, id);
    this.#decisions.make(
      id,
      steps.map(({ tree }) => tree.name),
      durable,
    );
    const outstanding = steps.filter(({ tree }) => !tree.takeOver());
    // mutant: file-decision-kept: === 0) this.#decisions.forget(id); → >= 0) this.#decisions.forget(id);
    if (outstanding.length === 0) this.#decisions.forget(id);
  }

  /** Carries out what a crash left decided but not done, and removes the decisions. Done when the store is opened. */
  async settleLeftovers(): Promise<void> {
    for (const { id, trees } of this.#decisions.left()) {
      try {
        await this.transact([...trees].sort(), () => ({ result: undefined, changes: null }));
        this.#decisions.forget(id);
      } catch (error) {
        if (!(error instanceof HoldfastError)) throw error; // A tree that cannot be used now still needs it.
      }
    }
  }

  #tree(name: Key): FileTree {
    if (this.#isClosed) throw new HoldfastError("E_STORE_UNAVAILABLE", `${this.url} was closed`, { reason: "closed" });
    const tree = this.#trees.get(name) ?? this.#openTree(name);
    this.#steps += 1;
    tree.lastStep = this.#steps;
    return tree;
  }

  #openTree(name: Key): FileTree {
    const folder = treeFolder(this.#layout, name);
    const beforeMaking = (): void => this.#place.assert();
    const tree = new FileTree(name, folder, this.#decisions, this.#manifests, this.#floor, beforeMaking);
    this.#trees.set(name, tree);
    return tree;
  }

  #closeOldest(): void {
    while (this.#trees.size > OPEN_TREES) {
      let oldest: FileTree | null = null;
      // mutant: tree-closed-in-use: if (tree.users === 0 && → if (
      for (const tree of this.#trees.values())
        if (tree.users === 0 && tree.lastStep < (oldest?.lastStep ?? Number.POSITIVE_INFINITY)) oldest = tree;
      if (oldest === null) return;
      this.#trees.delete(oldest.name);
      oldest.close();
    }
  }

  close(): void {
    for (const tree of this.#trees.values()) tree.close();
    this.#trees.clear();
    if (!this.#isClosed) this.#place.close();
    this.#isClosed = true;
    this.#floor.close();
    this.#manifestGuard.close();
  }
}

/** Says that a step needs a tree whose guard it does not hold. */
class MissingTree extends Error {
  readonly tree: Key;

  constructor(tree: Key) {
    super(`${tree} is not part of this step`);
    this.tree = tree;
  }
}

class FileView implements LedgerView {
  readonly now: Instant;
  readonly manifestsOf: LedgerView["manifestsOf"];
  readonly #trees: readonly FileTree[];

  constructor(trees: readonly FileTree[], now: Instant, manifestsOf: LedgerView["manifestsOf"]) {
    this.now = now;
    this.manifestsOf = manifestsOf;
    this.#trees = trees;
  }

  near(keys: readonly Key[]): Neighbourhood {
    return inOrder(nearIn(keys, (name) => this.#at(name)));
  }

  find(resource: Key, lockId: string): Grant | null {
    return this.#at(treeOf(resource)).find(resource, lockId);
  }

  mint(name: Key, above = 0): number {
    return this.#at(name).mint(this.now, above);
  }

  publishing(keys: readonly Key[]): readonly Manifest[] {
    const near = new Map<string, Manifest>();
    for (const tree of this.#trees) for (const manifest of tree.publishing(keys)) near.set(manifest.id, manifest);
    // A step that settles them changes all of their trees.
    for (const manifest of near.values()) for (const tree of treesOfManifest(manifest)) this.#at(tree);
    return [...near.values()];
  }

  nextTicketNumber(): number {
    return Math.max(...this.#trees.map((tree) => tree.nextTicketNumber()));
  }

  #at(name: Key): FileTree {
    const tree = this.#trees.find((each) => each.name === name);
    if (tree === undefined) throw new MissingTree(name);
    return tree;
  }
}

function nearIn(keys: readonly Key[], at: (name: Key) => FileTree): Neighbourhood {
  const found = nothingFound();
  const [only] = keys;
  if (keys.length === 1 && only !== undefined) {
    const tree = at(treeOf(only));
    tree.near(only, found);
    const line = tree.line();
    const isAll = tree.name === only || line.isEmpty;
    const near = isAll ? line : lineWithout(line, (ticket) => !concerns(ticket, only));
    return { grants: found.grants, line: near, unreadable: found.unreadable };
  }
  const tickets = new Map<string, Ticket>();
  for (const key of keys) {
    const tree = at(treeOf(key));
    tree.near(key, found);
    for (const ticket of tree.line()) if (concerns(ticket, key)) tickets.set(ticket.ticketId, ticket);
  }
  const grants = new Map(found.grants.map((grant) => [grant.lockId, grant]));
  return { grants: [...grants.values()], line: lineOf(tickets.values()), unreadable: found.unreadable };
}

function concerns(ticket: Ticket, key: Key): boolean {
  return ticket.wants.some(({ resource }) => isWithin(resource, key) || isWithin(key, resource));
}

/** The part of the changes that belongs to one tree, or null. */
function changesIn(name: Key, changes: Changes, isOnlyTree: boolean): TreeChanges | null {
  const here = <T extends { readonly resource: Key }>(all: readonly T[] = []): readonly T[] =>
    isOnlyTree ? all : all.filter(({ resource }) => treeOf(resource) === name);
  const adds = here(changes.adds);
  const updates = here(changes.updates);
  const drops = here(changes.drops);
  const audit = here(changes.audit);
  const { manifests: ofAllTrees = [] } = changes;
  const manifests = ofAllTrees.filter((manifest) => treesOfManifest(manifest).includes(name));
  const clears = (changes.clears ?? []).filter((resource) => treeOf(resource) === name);
  const count = adds.length + updates.length + drops.length + audit.length + manifests.length + clears.length;
  return count === 0 ? null : { adds, updates, drops, audit, manifests, clears };
}

const NOBODY: readonly Ticket[] = [];

/** Places in line are not part of the commit: one that could not be written is taken again by whoever still waits. */
function writeTickets(tree: FileTree, changes: Changes): void {
  const { ticketAdds = NOBODY, ticketUpdates = NOBODY, ticketDrops = NOBODY } = changes;
  try {
    const isHere = (ticket: Ticket): boolean => ticket.wants.some((want) => treeOf(want.resource) === tree.name);
    tree.changeLine(ticketDrops, ticketAdds.filter(isHere), ticketUpdates.filter(isHere));
  } catch {
    // The waiter polls without a place in line.
  }
}
