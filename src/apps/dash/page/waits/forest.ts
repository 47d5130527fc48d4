/**
 * Arranges waiters and holders as trees. Pure. A holder stands at a root, below it those that wait for it, and below
 * each of them what it holds itself and the waiters for that. Each stands in one place: a waiter that several holders
 * block is below the first of them and only named at the others. Holders that are blocked themselves are roots only
 * where they wait in a cycle.
 */
import type { WaitsView } from "../../views.js";

export type Holder = WaitsView["holders"][number];
export type Waiter = WaitsView["waiters"][number];

export interface HolderNode {
  readonly holder: Holder;
  readonly waiters: readonly WaiterNode[];
  /** Those who wait for it as well and stand below somebody else. */
  readonly elsewhere: readonly Waiter[];
}

export interface WaiterNode {
  readonly waiter: Waiter;
  /** Who else holds it up. */
  readonly also: Waiter["waits_for"];
  /** Those who wait for nobody but others in line, this one first. */
  readonly behind: readonly WaiterNode[];
  /** What it holds itself that others wait for. */
  readonly holds: readonly HolderNode[];
  /** What it holds that stands above: it is waited for from below. */
  readonly holdsAbove: readonly Holder[];
}

export interface Forest {
  readonly roots: readonly HolderNode[];
  /** Those whose holder is gone by now: their turn has come. */
  readonly free: readonly WaiterNode[];
}

export function forestOf({ holders, waiters }: Pick<WaitsView, "holders" | "waiters">): Forest {
  const below = new Map<string, Waiter[]>();
  const elsewhere = new Map<string, Waiter[]>();
  const parents = new Map<string, string | null>();
  const ids = new Set([...holders.map(({ lock_id }) => lock_id), ...waiters.map(({ ticket_id }) => ticket_id)]);
  for (const waiter of waiters) {
    const known = waiter.waits_for.filter(({ id }) => ids.has(id) && id !== waiter.ticket_id);
    const parent = (known.find(({ kind }) => kind === "holder") ?? known[0])?.id ?? null;
    parents.set(waiter.ticket_id, parent);
    if (parent !== null) push(below, parent, waiter);
    for (const { id, kind } of known) if (kind === "holder" && id !== parent) push(elsewhere, id, waiter);
  }
  const waiting = new Set(waiters.map(partyOf));
  const held = new Map<string, Holder[]>();
  for (const holder of holders) push(held, partyOf(holder), holder);

  const placed = new Set<string>();
  const path = new Set<string>();
  const nodeOf = (holder: Holder): HolderNode => {
    placed.add(holder.lock_id);
    path.add(holder.lock_id);
    const node = {
      holder,
      waiters: (below.get(holder.lock_id) ?? []).flatMap(waiterNodes),
      elsewhere: elsewhere.get(holder.lock_id) ?? [],
    };
    path.delete(holder.lock_id);
    return node;
  };
  /** None when it stands somewhere already, as with requests that wait for each other. */
  const waiterNodes = (waiter: Waiter): WaiterNode[] => {
    if (placed.has(waiter.ticket_id)) return [];
    placed.add(waiter.ticket_id);
    const own = held.get(partyOf(waiter)) ?? [];
    return [
      {
        waiter,
        also: waiter.waits_for.filter(({ id }) => id !== parents.get(waiter.ticket_id) && ids.has(id)),
        holdsAbove: own.filter(({ lock_id }) => path.has(lock_id)),
        holds: own.filter(({ lock_id }) => !placed.has(lock_id)).map(nodeOf),
        behind: (below.get(waiter.ticket_id) ?? []).flatMap(waiterNodes),
      },
    ];
  };

  const roots = holders.filter((holder) => !waiting.has(partyOf(holder))).map(nodeOf);
  for (const holder of holders) if (!placed.has(holder.lock_id)) roots.push(nodeOf(holder));
  const free = waiters.flatMap((waiter) => (parents.get(waiter.ticket_id) === null ? waiterNodes(waiter) : []));
  return { roots, free: [...free, ...waiters.flatMap(waiterNodes)] };
}

/** A process, under one name. */
function partyOf({ holder_id, owner }: Holder | Waiter): string {
  return `${owner} ${holder_id}`;
}

function push<T>(map: Map<string, T[]>, name: string, value: T): void {
  const list = map.get(name);
  if (list === undefined) map.set(name, [value]);
  else list.push(value);
}

/** The first so many of a forest, from the top. */
export function cutForest(forest: Forest, most: number): Forest {
  let left = most;
  const cutHolders = (nodes: readonly HolderNode[]): HolderNode[] =>
    nodes.flatMap((node) => (left-- > 0 ? [{ ...node, waiters: cutWaiters(node.waiters) }] : []));
  const cutWaiters = (nodes: readonly WaiterNode[]): WaiterNode[] =>
    nodes.flatMap((node) =>
      left-- > 0 ? [{ ...node, holds: cutHolders(node.holds), behind: cutWaiters(node.behind) }] : [],
    );
  const roots = cutHolders(forest.roots);
  return { roots, free: cutWaiters(forest.free) };
}
