/** Makes a store of a ledger: each call of the contract is one transaction that runs one operation. */

import { sleep } from "../../base/sleep.js";
import type { Ticket } from "../../lock/grant.js";
import { type Key, treeOf, treesOf } from "../../lock/key.js";
import type { Manifest } from "../../lock/manifest.js";
import { createNodeOrder } from "../../lock/order.js";
import type { CommitTale, Fence, GrantRef, Locks, Party, Reader, Scripts, Store, Transactions } from "../contract.js";
import type { Changes, Ledger, LedgerView, Outcome } from "../ledger.js";
import { acquire } from "../operations/acquire.js";
import { clearUnreadable, dropStaleTickets } from "../operations/clear.js";
import { entryFor, type OperationContext } from "../operations/context.js";
import { downgrade, upgrade } from "../operations/convert.js";
import { end } from "../operations/end.js";
import { leave } from "../operations/leave.js";
import { requireWriter, requireWriters } from "../operations/live-grant.js";
import { noteKept } from "../operations/note-kept.js";
import { raiseFence } from "../operations/raise-fence.js";
import { refuse } from "../operations/refuse.js";
import { release } from "../operations/release.js";
import { renew, resume } from "../operations/renew.js";
import { requireFree } from "../operations/require-free.js";
import { settleBefore } from "../operations/settle.js";
import { verify } from "../operations/verify.js";
import { createManifests, type LocalManifests } from "../publish/manifests.js";
import { runAtOnce } from "../run-at-once.js";
import type { Surroundings } from "./liveness-and-wake-ups.js";
import { createScripts } from "./run-scripts.js";
import { inOrder } from "./stable-order.js";
import { once } from "./unique-grants.js";
import { wholeChanges } from "./whole-changes.js";

/**
 * A woken process is mostly put on the processor of the one that woke it, even where another is idle, and waits there until
 * that one has nothing to do. So whoever releases to a waiter rests for a moment first, the shortest that a timer can make.
 */
const STEP_ASIDE_MS = 1;

type Located = { readonly resource: Key };

/** How a step is made. */
interface Manner {
  /** Set where the step may grant something, to whomever: what a publish left there is settled first, in the same step. */
  readonly party?: Party | null;
  /** What it grants, when that is more or less than what it adds. */
  readonly granted?: (changes: Changes) => readonly Located[];
  /**
   * It relies on a grant, or writes outside of the store: it looks first whether the grant is in the store that others see.
   */
  readonly inPlace?: boolean;
  /** Rests after waking another process. */
  readonly stepsAside?: boolean;
  /** It probably changes something durable: the ledger is prepared for that, and runs the body once (`Ledger.transact`). */
  readonly once?: boolean;
}

const NOBODY: readonly Ticket[] = [];
const NOTHING: readonly never[] = [];
const added = ({ adds }: Changes): readonly Located[] => adds ?? NOTHING;

export function createLocalStore(ledger: Ledger, surroundings: Surroundings): Store {
  const { settings } = ledger;
  const context: OperationContext = {
    settings,
    order: createNodeOrder(settings.levels),
    witness: surroundings.witness,
  };
  // Most commands need none of these.
  let manifests: LocalManifests | null = null;
  let reader: Reader | null = null;
  let scripts: Scripts | null | undefined;
  let transactions: Transactions | null | undefined;
  const openManifests = (): LocalManifests => {
    manifests ??= createManifests(ledger, context.witness);
    return manifests;
  };
  const sweep = (settled: readonly Manifest[]): void => {
    if (settled.length > 0) openManifests().sweep(settled);
  };

  async function transact<T>(
    about: readonly Located[],
    body: (view: LedgerView) => Outcome<T>,
    { party = null, granted = added, inPlace = false, stepsAside = false, once: runsOnce = false }: Manner = {},
  ): Promise<T> {
    let wake: readonly Ticket[] = NOBODY;
    let settled: readonly Manifest[] = NOTHING;
    let hasWoken = false;
    const tell = (tickets: readonly Ticket[]): void => {
      for (const ticket of tickets) if (surroundings.wakeUps.wake(ticket)) hasWoken = true;
    };
    const step = (view: LedgerView): Outcome<T> => {
      // mutant: step-in-place: if (inPlace) ledger.assertInPlace(); → void inPlace;
      if (inPlace) ledger.assertInPlace();
      const { result: answer, changes: asked } = body(view);
      settled = NOTHING;
      if (asked === null) return { result: answer, changes: null, whenMade: undefined };
      let changes = wholeChanges(asked);
      const { heirs = NOBODY } = changes;
      wake = changes.wake ?? NOBODY;
      if (party !== null) {
        const keys = granted(changes).map(({ resource }) => resource);
        // mutant: publish-settle: (view, changes, keys, → (view, changes, keys.slice(0, 0),
        const left = settleBefore(view, changes, keys, party, context.witness);
        changes = left.changes;
        settled = left.settled;
      }
      // mutant: heirs-told: () => tell(heirs) → () => undefined
      return { result: answer, changes, whenMade: heirs.length === 0 ? undefined : () => tell(heirs) };
    };
    const result = await ledger.transact(treesOf(about), step, runsOnce);
    tell(wake);
    sweep(settled);
    if (hasWoken && stepsAside) await sleep(STEP_ASIDE_MS);
    return result;
  }

  const locks: Locks = {
    acquire: (request) =>
      transact(request.wants, (view) => acquire(view, request, context), {
        party: request.party,
        // Only the first request: a poll mostly changes nothing but its place in the queue, which need not be durable.
        // mutant: detached-once: request.detached && request.ticketId === null → false
        // mutant: detached-poll: request.detached && request.ticketId === null → request.detached
        once: request.detached && request.ticketId === null,
      }),
    upgrade: (request) =>
      transact([request.grant], (view) => upgrade(view, request, context), {
        party: request.party,
        inPlace: true,
        granted: ({ updates = [], adds = [] }) => [...updates, ...adds],
      }),
    downgrade: (grants, party) =>
      transact(grants, (view) => downgrade(view, grants, party, context), { party, inPlace: true }),
    renew: (grants, leaseMs) => transact(grants, (view) => renew(view, grants, leaseMs), { inPlace: true }),
    resume: (grants, tokenHash, party) =>
      transact(grants, (view) => resume(view, once(grants), tokenHash, party), { party, inPlace: true }),
    release: (grants, party) =>
      transact(grants, (view) => release(view, once(grants), party, context), { party, stepsAside: true }),
    leave: (ticketId, wants, party, report) =>
      transact(wants, (view) => leave(view, ticketId, wants, party, report, context), { party }),
    noteKept: (ticketId, wants, kept) => transact(wants, (view) => noteKept(view, ticketId, wants, kept)),
    handed: (resource, tokenHash) => ledger.held(resource, tokenHash),
    refuse: (resource, party, reasons) => transact([{ resource }], (view) => refuse(view, resource, party, reasons)),
    end: (request) => transact([request], (view) => end(view, request, context), { party: request.party }),
  };

  const fence: Fence = {
    verify: (resource, fencingToken) =>
      transact([{ resource }], (view) => verify(view, resource, fencingToken), { inPlace: true }),
    commit: (grants, write, tale) =>
      transact(
        grants,
        (view) => {
          requireWriters(view, grants);
          return { result: runAtOnce(write), changes: tale === undefined ? null : told(view, grants, tale) };
        },
        // mutant: told-commit-once: once: tale !== undefined → once: false
        { inPlace: true, once: tale !== undefined },
      ),
    commitFree: (resources, write) =>
      transact(
        resources.map((resource) => ({ resource })),
        (view) => {
          // mutant: board-free-check: for (const resource of resources) requireFree(view, resource, context); →
          for (const resource of resources) requireFree(view, resource, context);
          return { result: runAtOnce(write), changes: null };
        },
        { inPlace: true },
      ),
  };

  return {
    url: ledger.url,
    id: ledger.id,
    settings,
    abilities: {
      handsOver: true,
      commitsFree: true,
      clearsUnreadable: true,
      commandsInherit: surroundings.commandsInherit,
    },
    locks,
    fence,
    get transactions() {
      if (transactions === undefined) transactions = createTransactions(ledger);
      return transactions;
    },
    get scripts() {
      if (scripts === undefined)
        scripts = createScripts(ledger, context, { wake: (ticket) => surroundings.wakeUps.wake(ticket), sweep });
      return scripts;
    },
    get reader() {
      reader ??= createReader(ledger, context.witness.life);
      return reader;
    },
    upkeep: {
      clearUnreadable: (resource, party) => transact([{ resource }], (view) => clearUnreadable(view, resource, party)),
      raiseFence: (tree, above, party) =>
        transact([{ resource: tree }], (view) => raiseFence(view, tree, above, party)),
      dropStaleTickets: (resource) => transact([{ resource }], (view) => dropStaleTickets(view, resource)),
    },
    namedLeases: null,
    get wakeUps() {
      return surroundings.wakeUps;
    },
    get manifests() {
      return openManifests();
    },
    adoptWorkspace: (id) => ledger.adoptWorkspace(id),
    assertInPlace: () => ledger.assertInPlace(),
    prove(nonce, about) {
      ledger.assertInPlace(); // A proof would make its folder anew.
      return surroundings.prove(nonce, about);
    },
    proveForCommand(nonce, about) {
      ledger.assertInPlace();
      return surroundings.proveForCommand(nonce, about);
    },
    async close(leavesGrants = false) {
      await manifests?.close();
      ledger.close();
      surroundings.close(leavesGrants);
    },
  };
}

function createTransactions(ledger: Ledger): Transactions | null {
  const { callerRows } = ledger;
  if (callerRows === null) return null;
  return {
    write: (grants, body, limitMs) =>
      callerRows.write(
        treesOf(grants),
        (view) => {
          // mutant: transaction-in-place: ledger.assertInPlace(); →
          ledger.assertInPlace();
          // mutant: transaction-check: requireWriters(view, grants); →
          requireWriters(view, grants);
        },
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

export function createReader(
  { records, settings }: Pick<Ledger, "records" | "settings">,
  life: Reader["life"],
): Reader {
  return {
    life,
    async inspect(resource) {
      const { grants, line, unreadable } = inOrder(records.near(resource));
      return {
        resource,
        grants,
        waiters: [...line],
        unreadable,
        fencingToken: records.lastFence(treeOf(resource)),
        settings,
      };
    },
    list: async (page) => records.list(page),
    waiting: async (limit) => records.waiting(limit),
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
