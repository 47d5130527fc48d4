/** A store made of a ledger: each call of the contract is one transaction that runs one operation. */
import { type Key, treeOf } from "../lock/key.js";
import { createNodeOrder } from "../lock/order.js";
import { sleep } from "../support/deadline.js";
import type { CommitTale, Fence, GrantRef, Locks, Party, Reader, Store, Transactions } from "./contract.js";
import { inOrder } from "./in-order.js";
import type { Changes, Ledger, LedgerView, Outcome } from "./ledger.js";
import { createManifests } from "./manifests.js";
import { once } from "./once.js";
import { acquire } from "./operations/acquire.js";
import { clearUnreadable, dropStaleTickets } from "./operations/clear.js";
import { entryFor, type OperationContext } from "./operations/context.js";
import { downgrade, upgrade } from "./operations/convert.js";
import { end } from "./operations/end.js";
import { requireFree } from "./operations/free.js";
import { leave } from "./operations/leave.js";
import { requireWriter, requireWriters } from "./operations/live-grant.js";
import { refuse } from "./operations/refuse.js";
import { release } from "./operations/release.js";
import { renew, resume } from "./operations/renew.js";
import { settleBefore } from "./operations/settle.js";
import { verify } from "./operations/verify.js";
import { runAtOnce } from "./run-at-once.js";
import { createScripts } from "./run-scripts.js";
import type { Surroundings } from "./surroundings.js";

/**
 * A woken process is mostly put on the processor of the one that woke it, even where another is idle, and waits there until
 * that one has nothing to do. So whoever releases to a waiter rests for a moment first, the shortest that a timer can make.
 */
const STEP_ASIDE_MS = 1;

export function createLocalStore(ledger: Ledger, surroundings: Surroundings): Store {
  const { settings } = ledger;
  const context: OperationContext = {
    settings,
    order: createNodeOrder(settings.levels),
    witness: surroundings.witness,
  };
  const { wakeUps } = surroundings;
  const manifests = createManifests(ledger);

  async function transact<T>(
    about: readonly { readonly resource: Key }[],
    body: (view: LedgerView) => Outcome<T>,
    { stepsAside = false } = {},
  ): Promise<T> {
    let outcome: Outcome<T> | undefined;
    const result = await ledger.transact(treesOf(about), (view) => {
      outcome = body(view);
      return outcome;
    });
    const woken = (outcome?.changes?.wake ?? []).filter((ticket) => wakeUps.wake(ticket));
    if (stepsAside && woken.length > 0) await sleep(STEP_ASIDE_MS);
    return result;
  }

  /** A step that may grant something, to whomever: what a publish left on, above or below it is settled first, in the same step. */
  async function granting<T>(
    about: readonly { readonly resource: Key }[],
    party: Party,
    body: (view: LedgerView) => Outcome<T>,
    granted: (outcome: Outcome<T>) => readonly { readonly resource: Key }[] = ({ changes }) => changes?.adds ?? [],
    manner?: { readonly stepsAside: boolean },
  ): Promise<T> {
    let settled: ReturnType<typeof settleBefore>["settled"] = [];
    const result = await transact(
      about,
      (view) => {
        const outcome = body(view);
        const keys = granted(outcome).map(({ resource }) => resource);
        const after = settleBefore(view, outcome, keys, party);
        settled = after.settled;
        return after;
      },
      manner,
    );
    manifests.sweep(settled);
    return result;
  }

  const locks: Locks = {
    acquire: (request) => granting(request.wants, request.party, (view) => acquire(view, request, context)),
    upgrade: (request) =>
      granting(
        [request.grant],
        request.party,
        (view) => upgrade(view, request, context),
        ({ changes }) => [...(changes?.updates ?? []), ...(changes?.adds ?? [])],
      ),
    downgrade: (grants, party) => granting(grants, party, (view) => downgrade(view, grants, party, context)),
    renew: (grants, leaseMs) => transact(grants, (view) => renew(view, grants, leaseMs)),
    resume: (grants, tokenHash, party) =>
      granting(grants, party, (view) => resume(view, once(grants), tokenHash, party)),
    release: (grants, party) =>
      granting(grants, party, (view) => release(view, once(grants), party, context), undefined, { stepsAside: true }),
    leave: (ticketId, wants, party, report) =>
      granting(wants, party, (view) => leave(view, ticketId, wants, party, report, context)),
    handed: (resource, tokenHash) => ledger.held(resource, tokenHash),
    refuse: (resource, party, reasons) => transact([{ resource }], (view) => refuse(view, resource, party, reasons)),
    end: (request) => granting([request], request.party, (view) => end(view, request, context)),
  };

  const fence: Fence = {
    verify: (resource, fencingToken) => transact([{ resource }], (view) => verify(view, resource, fencingToken)),
    commit: (grants, write, tale) =>
      transact(grants, (view) => {
        requireWriters(view, grants);
        return { result: runAtOnce(write), changes: tale === undefined ? null : told(view, grants, tale) };
      }),
    commitFree: (resources, write) =>
      transact(
        resources.map((resource) => ({ resource })),
        (view) => {
          for (const resource of resources) requireFree(view, resource, context);
          return { result: runAtOnce(write), changes: null };
        },
      ),
  };

  return {
    url: ledger.url,
    settings,
    locks,
    fence,
    transactions: createTransactions(ledger),
    scripts: createScripts(ledger, context, { wake: (ticket) => wakeUps.wake(ticket), sweep: manifests.sweep }),
    reader: createReader(ledger),
    upkeep: {
      clearUnreadable: (resource, party) => transact([{ resource }], (view) => clearUnreadable(view, resource, party)),
      dropStaleTickets: (resource) => transact([{ resource }], (view) => dropStaleTickets(view, resource)),
    },
    wakeUps,
    manifests,
    prove: (nonce, about) => surroundings.prove(nonce, about),
    ...(surroundings.proveForCommand === undefined ? {} : { proveForCommand: surroundings.proveForCommand }),
    async close() {
      await manifests.close();
      ledger.close();
      surroundings.close();
    },
  };
}

function createTransactions({ callerRows }: Ledger): Transactions | null {
  if (callerRows === null) return null;
  return {
    write: (grants, body, limitMs) =>
      callerRows.write(
        treesOf(grants),
        (view) => requireWriters(view, grants),
        (sql) => runAtOnce(body, sql),
        limitMs,
      ),
    read: (body, snapshot, limitMs) => callerRows.read((sql) => runAtOnce(body, sql), snapshot, limitMs),
  };
}

function told(view: LedgerView, grants: readonly GrantRef[], { event, party, details }: CommitTale): Changes {
  const audit = grants.map((grant) => entryFor(view, event, requireWriter(view, grant), party, details));
  return { audit, durable: true };
}

function treesOf(about: readonly { readonly resource: Key }[]): readonly Key[] {
  const [first] = about;
  if (about.length === 1 && first !== undefined) return [treeOf(first.resource)];
  return [...new Set(about.map(({ resource }) => treeOf(resource)))].sort();
}

export function createReader({ records, settings }: Pick<Ledger, "records" | "settings">): Reader {
  return {
    async inspect(resource) {
      const { grants, tickets: waiters, unreadable } = inOrder(records.near(resource));
      return { resource, grants, waiters, unreadable, fencingToken: records.lastFence(treeOf(resource)), settings };
    },
    list: async (page) => records.list(page),
    audit: async (page) => records.audit(page),
    auditHeads: async () => records.heads(),
    async verifyAudit(tree) {
      const trees = tree === null ? [...records.heads().keys()] : [tree];
      const checked = trees.map((each) => records.checkChain(each));
      const bad = checked.flatMap((check) => (check.bad === null ? [] : [check.bad]));
      const entries = checked.reduce((sum, check) => sum + check.entries, 0);
      return { ok: bad.length === 0, chains: trees.length, entries, bad };
    },
  };
}
