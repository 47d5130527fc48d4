/**
 * The ledger in memory, for the clients of one process. It keeps everything in plain maps, because tests compare the other
 * stores to it.
 */
import { type AuditEntry, chain, EMPTY_CHAIN, follow, matches } from "../../lock/audit.js";
import type { Neighbourhood } from "../../lock/decide.js";
import type { Grant, Ticket } from "../../lock/grant.js";
import { isWithin, type Key, treeOf } from "../../lock/key.js";
import { lineOf } from "../../lock/queue.js";
import type { Settings } from "../../lock/settings.js";
import { readEntry } from "../../lock/stored-entry.js";
import { fenceAt } from "../../lock/time.js";
import type { Clock } from "../../platform/clock.js";
import type { AuditPage, ListPage } from "../contract.js";
import type { Changes, Ledger, LedgerView, Outcome } from "../ledger.js";
import { placesIn } from "../local/first-tickets.js";
import { inOrder } from "../local/stable-order.js";
import { MemoryManifests } from "./manifests.js";

interface Tree {
  readonly grants: Map<string, Grant>;
  readonly tickets: Map<string, Ticket>;
  readonly lines: string[];
  head: typeof EMPTY_CHAIN;
  fence: number;
}

export function createMemoryLedger(url: string, settings: Settings, clock: Clock): Ledger {
  const trees = new Map<Key, Tree>();
  const manifests = new MemoryManifests();
  let firstWorkspace: string | null = null;
  let ticketNumber = 0;

  const treeAt = (name: Key): Tree => {
    let tree = trees.get(name);
    if (tree === undefined) {
      tree = { grants: new Map(), tickets: new Map(), lines: [], head: EMPTY_CHAIN, fence: 0 };
      trees.set(name, tree);
    }
    return tree;
  };

  const near = (keys: readonly Key[]): Neighbourhood => {
    const related = (resource: Key): boolean => keys.some((key) => isWithin(resource, key) || isWithin(key, resource));
    const around = [...new Set(keys.map(treeOf))].map(treeAt);
    return {
      grants: around.flatMap((tree) => [...tree.grants.values()].filter((grant) => related(grant.resource))),
      line: lineOf(
        new Set(
          around.flatMap((tree) =>
            [...tree.tickets.values()].filter((ticket) => ticket.wants.some((want) => related(want.resource))),
          ),
        ),
      ),
      unreadable: [],
    };
  };

  const apply = (changes: Changes): void => {
    manifests.apply(changes);
    for (const grant of changes.drops ?? []) treeAt(treeOf(grant.resource)).grants.delete(grant.lockId);
    for (const grant of [...(changes.adds ?? []), ...(changes.updates ?? [])])
      treeAt(treeOf(grant.resource)).grants.set(grant.lockId, grant);
    for (const ticket of changes.ticketDrops ?? [])
      for (const tree of ticketTrees(ticket)) treeAt(tree).tickets.delete(ticket.ticketId);
    for (const ticket of [...(changes.ticketAdds ?? []), ...(changes.ticketUpdates ?? [])])
      for (const tree of ticketTrees(ticket)) treeAt(tree).tickets.set(ticket.ticketId, ticket);
    for (const draft of changes.audit ?? []) {
      const tree = treeAt(treeOf(draft.resource));
      const { line, head } = chain(tree.head, draft);
      tree.lines.push(line);
      tree.head = head;
    }
  };

  const audit = (page: AuditPage): AuditEntry[] => {
    const found: AuditEntry[] = [];
    for (const [at, line] of (trees.get(page.tree)?.lines ?? []).slice(page.afterSeq).entries()) {
      const entry = readEntry(line, { tree: page.tree, seq: page.afterSeq + at + 1 });
      if (matches(entry, page)) found.push(entry);
      if (found.length === page.limit) break;
    }
    return found;
  };

  return {
    url,
    id: url,
    settings,
    callerRows: null,
    scripting: null,
    async transact<T>(_trees: readonly Key[], body: (view: LedgerView) => Outcome<T>): Promise<T> {
      const { result, changes, whenMade } = body({
        now: clock(),
        near: (keys) => inOrder(near(keys)),
        find: (resource, lockId) => treeAt(treeOf(resource)).grants.get(lockId) ?? null,
        mint: (name, above = 0) => {
          const tree = treeAt(name);
          tree.fence = Math.max(tree.fence || fenceAt(clock()), above) + 1;
          return tree.fence;
        },
        nextTicketNumber: () => ++ticketNumber,
        publishing: (keys) => manifests.pendingNear(keys),
        manifestsOf: (target) => manifests.of(target),
      });
      if (changes !== null) apply(changes);
      whenMade?.();
      return result;
    },
    async sync() {},
    async adoptWorkspace(id) {
      firstWorkspace ??= id;
      return firstWorkspace;
    },
    assertInPlace() {},
    held: (key, tokenHash) =>
      near([key]).grants.find((grant) => grant.resource === key && grant.tokenHash === tokenHash) ?? null,
    records: {
      near: (key) => near([key]),
      lastFence: (tree) => trees.get(tree)?.fence ?? 0,
      list: (page) =>
        pageOf(
          [...trees.values()].flatMap((tree) => [...tree.grants.values()]),
          page,
        ),
      waiting: (limit) => placesIn(trees.keys(), (tree) => lineOf(treeAt(tree).tickets.values()), limit),
      heads: () =>
        new Map([...trees].filter(([, tree]) => tree.head.seq > 0).map(([name, tree]) => [name, tree.head.seq])),
      audit,
      manifests: (page) => manifests.page(page),
      files: (manifest, after, limit) => manifests.files(manifest, after, limit),
      checkChain(name) {
        const tree = trees.get(name);
        let head = EMPTY_CHAIN;
        for (const line of tree?.lines ?? []) {
          const next = follow(head, line);
          if (next === null) return { entries: head.seq, bad: { tree: name, seq: head.seq + 1, why: "altered" } };
          head = next;
        }
        return { entries: head.seq, bad: null };
      },
    },
    close() {},
  };
}

function ticketTrees(ticket: Ticket): Set<Key> {
  return new Set(ticket.wants.map((want) => treeOf(want.resource)));
}

/** A page of grants in the order of keys, then ids. */
function pageOf(grants: readonly Grant[], { prefix, stem = "", after, limit }: ListPage): Grant[] {
  return grants
    .filter(({ resource }) => (prefix === null ? resource.startsWith(stem) : isWithin(resource, prefix)))
    .filter((grant) => after === null || byPlace(grant, after) > 0)
    .sort(byPlace)
    .slice(0, limit);
}

type Place = Pick<Grant, "resource" | "lockId">;

function byPlace(a: Place, b: Place): number {
  if (a.resource !== b.resource) return a.resource < b.resource ? -1 : 1;
  return a.lockId < b.lockId ? -1 : a.lockId > b.lockId ? 1 : 0;
}
