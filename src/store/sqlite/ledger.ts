/**
 * The ledger in one SQLite file (WAL). The guard is a short `BEGIN IMMEDIATE`, behind a kernel lock that all writers pass
 * first: SQLite's own retry serves equals very unevenly.
 *
 * What a crash leaves: a transaction is there whole or not at all. After a power cut the last commits may be missing,
 * always from the end; so fence numbers are reserved in blocks by a commit that is synced to the disk before the first of
 * them is used, and after a restart counting goes on behind the block. Steps that must survive a power cut (`durable`)
 * are synced before they are acknowledged.
 */
import { closeSync, fsyncSync, openSync } from "node:fs";
import { type AuditDraft, type AuditEntry, chain, EMPTY_CHAIN, follow, matches, parseEntry } from "../../lock/audit.js";
import type { Neighbourhood } from "../../lock/decide.js";
import { type Key, treeOf } from "../../lock/key.js";
import type { Settings } from "../../lock/settings.js";
import type { Clock } from "../../support/clock.js";
import { ioError } from "../../support/errors.js";
import { enterAll, type Guard, tryEnterAll } from "../../support/guard.js";
import type { AuditPage } from "../contract.js";
import { type Changes, type Ledger, type LedgerView, MAX_KEYS, type Outcome } from "../ledger.js";
import type { Database, Row } from "./database.js";
import { addGrant, dropGrant, dropTicket, findGrant, listGrants, putTicket, selectNear, updateGrant } from "./rows.js";

/** Numbers reserved by one synced commit. */
const FENCE_BLOCK = 1_000;
const AUDIT_PAGE = 1_000;

interface Tree {
  fence: number;
  reserved: number;
  bootId: string;
  held: number;
  waiting: number;
  auditSeq: number;
  auditHash: string;
}

/** Thrown inside a step that needs more fence numbers than are reserved: reserve, then run it again. */
class OutOfNumbers {
  readonly tree: Key;
  constructor(tree: Key) {
    this.tree = tree;
  }
}

export class SqliteLedger implements Ledger {
  readonly url: string;
  readonly settings: Settings;
  readonly #database: Database;
  readonly #turnstile: Guard;
  readonly #turn: readonly Guard[];
  readonly #clock: Clock;

  constructor(url: string, database: Database, turnstile: Guard, settings: Settings, clock: Clock) {
    this.url = url;
    this.#database = database;
    this.#turnstile = turnstile;
    this.#turn = [turnstile];
    this.settings = settings;
    this.#clock = clock;
  }

  async transact<T>(_trees: readonly Key[], body: (view: LedgerView) => Outcome<T>): Promise<T> {
    if (!tryEnterAll(this.#turn)) await enterAll(this.#turn, this.#database.path);
    try {
      for (;;) {
        const done = this.#step(body);
        if (done instanceof OutOfNumbers) this.#reserve(done.tree);
        else return done.result;
      }
    } finally {
      this.#turnstile.leave();
    }
  }

  #step<T>(body: (view: LedgerView) => Outcome<T>): Outcome<T> | OutOfNumbers {
    const database = this.#database;
    const trees = new Map<Key, Tree>();
    database.run("BEGIN IMMEDIATE");
    try {
      const outcome = body(this.#view(trees));
      if (outcome.changes === null) {
        database.run("ROLLBACK");
        return outcome;
      }
      this.#apply(outcome.changes, trees);
      database.run("COMMIT");
      if (outcome.changes.durable) this.#sync();
      return outcome;
    } catch (error) {
      this.#rollBack();
      if (error instanceof OutOfNumbers) return error;
      throw error;
    }
  }

  /** SQLite may have rolled back by itself; then there is nothing left to do. */
  #rollBack(): void {
    try {
      this.#database.run("ROLLBACK");
    } catch {
      // No transaction is open any more.
    }
  }

  #view(trees: Map<Key, Tree>): LedgerView {
    const database = this.#database;
    return {
      now: this.#clock(),
      near: (keys) => this.#near(keys, trees),
      find: (_resource, lockId) => findGrant(database, lockId),
      mint: (name) => {
        const tree = this.#tree(name, trees);
        if (tree.fence >= tree.reserved || tree.bootId !== this.#clock().bootId) throw new OutOfNumbers(name);
        tree.fence += 1;
        return tree.fence;
      },
      nextTicketNumber: () => Number(database.get("SELECT max(number) FROM tickets")?.[0] ?? 0) + 1,
    };
  }

  /** A tree whose counters say that nothing is held or waited for needs no look-up. */
  #near(keys: readonly Key[], trees: Map<Key, Tree>): Neighbourhood {
    const busy = keys.filter((key) => {
      const tree = this.#tree(treeOf(key), trees);
      return tree.held > 0 || tree.waiting > 0;
    });
    return busy.length === 0 ? NOTHING_NEAR : selectNear(this.#database, busy);
  }

  #tree(name: Key, trees: Map<Key, Tree>): Tree {
    let tree = trees.get(name);
    if (tree === undefined) {
      tree = toTree(this.#database.get(SELECT_TREE, name)) ?? {
        fence: 0,
        reserved: 0,
        bootId: "",
        held: 0,
        waiting: 0,
        auditSeq: EMPTY_CHAIN.seq,
        auditHash: EMPTY_CHAIN.hash,
      };
      trees.set(name, tree);
    }
    return tree;
  }

  #apply(changes: Changes, trees: Map<Key, Tree>): void {
    const database = this.#database;
    const changed = new Set<Key>();
    const at = (resource: Key): Tree => {
      const name = treeOf(resource);
      changed.add(name);
      return this.#tree(name, trees);
    };
    for (const grant of changes.drops ?? []) {
      dropGrant(database, grant);
      at(grant.resource).held -= 1;
    }
    for (const grant of changes.adds ?? []) {
      addGrant(database, grant);
      at(grant.resource).held += 1;
    }
    for (const grant of changes.updates ?? []) updateGrant(database, grant);
    for (const ticket of changes.ticketDrops ?? []) {
      dropTicket(database, ticket);
      for (const { resource } of ticket.wants) at(resource).waiting -= 1;
    }
    for (const ticket of changes.ticketAdds ?? []) {
      putTicket(database, ticket);
      for (const { resource } of ticket.wants) at(resource).waiting += 1;
    }
    for (const ticket of changes.ticketUpdates ?? []) putTicket(database, ticket);
    for (const draft of changes.audit ?? []) this.#append(draft, at(draft.resource));
    for (const name of changed) {
      const tree = this.#tree(name, trees);
      database.run(
        PUT_TREE,
        name,
        tree.fence,
        tree.reserved,
        tree.bootId,
        tree.held,
        tree.waiting,
        tree.auditSeq,
        tree.auditHash,
      );
    }
  }

  #append(draft: AuditDraft, tree: Tree): void {
    const { line, head } = chain({ seq: tree.auditSeq, hash: tree.auditHash }, draft);
    this.#database.run("INSERT INTO audit (tree, seq, entry) VALUES (?, ?, ?)", treeOf(draft.resource), head.seq, line);
    tree.auditSeq = head.seq;
    tree.auditHash = head.hash;
  }

  /** A lost or new counter starts from the time in milliseconds; one from before a restart behind its reserved block. */
  #reserve(name: Key): void {
    const { bootId, wallMs } = this.#clock();
    this.#database.run("BEGIN IMMEDIATE");
    try {
      const tree = this.#tree(name, new Map());
      const isNew = tree.reserved === 0;
      const from = isNew
        ? Math.floor(wallMs)
        : tree.bootId === bootId
          ? tree.fence
          : Math.max(tree.fence, tree.reserved);
      this.#database.run(
        PUT_TREE,
        name,
        from,
        from + FENCE_BLOCK + MAX_KEYS,
        bootId,
        tree.held,
        tree.waiting,
        tree.auditSeq,
        tree.auditHash,
      );
      this.#database.run("COMMIT");
    } catch (error) {
      this.#rollBack();
      throw error;
    }
    this.#sync();
  }

  /** Makes every commit so far survive a power cut: what is committed and not yet checkpointed is in the WAL. */
  #sync(): void {
    const path = `${this.#database.path}-wal`;
    try {
      const fd = openSync(path, "r+");
      try {
        fsyncSync(fd);
      } finally {
        closeSync(fd);
      }
    } catch (error) {
      throw ioError(error, "sync", path);
    }
  }

  readonly records = {
    near: (key: Key): Neighbourhood => selectNear(this.#database, [key]),
    lastFence: (tree: Key): number => toTree(this.#database.get(SELECT_TREE, tree))?.fence ?? 0,
    list: (page: Parameters<Ledger["records"]["list"]>[0]) =>
      listGrants(this.#database, page.prefix, page.after, page.limit),
    heads: (): Map<Key, number> =>
      new Map(
        this.#database
          .all("SELECT tree, audit_seq FROM trees WHERE audit_seq > 0")
          .map(([tree, seq]) => [tree as Key, seq as number]),
      ),
    audit: (page: AuditPage): AuditEntry[] => this.#readAudit(page),
    checkChain: (tree: Key) => this.#checkChain(tree),
  };

  #readAudit(page: AuditPage): AuditEntry[] {
    const found: AuditEntry[] = [];
    for (const line of this.#auditLines(page.tree, page.afterSeq)) {
      const entry = parseEntry(line);
      if (matches(entry, page)) found.push(entry);
      if (found.length === page.limit) break;
    }
    return found;
  }

  *#auditLines(tree: Key, afterSeq: number): Generator<string> {
    for (let after = afterSeq; ; ) {
      const rows = this.#database.all(
        "SELECT seq, entry FROM audit WHERE tree = ? AND seq > ? ORDER BY seq LIMIT ?",
        tree,
        after,
        AUDIT_PAGE,
      );
      for (const [seq, entry] of rows) {
        after = seq as number;
        yield entry as string;
      }
      if (rows.length < AUDIT_PAGE) return;
    }
  }

  #checkChain(name: Key): ReturnType<Ledger["records"]["checkChain"]> {
    const kept = toTree(this.#database.get(SELECT_TREE, name));
    let head = EMPTY_CHAIN;
    for (const line of this.#auditLines(name, 0)) {
      const next = head.seq === kept?.auditSeq ? null : follow(head, line);
      if (next === null)
        return { entries: head.seq, bad: { tree: name, seq: head.seq + 1, why: "altered or out of place" } };
      head = next;
    }
    const isWhole = head.seq === (kept?.auditSeq ?? 0) && (head.seq === 0 || head.hash === kept?.auditHash);
    return { entries: head.seq, bad: isWhole ? null : { tree: name, seq: head.seq + 1, why: "the end is missing" } };
  }

  close(): void {
    this.#turnstile.close();
    this.#database.close();
  }
}

const NOTHING_NEAR: Neighbourhood = { grants: [], tickets: [], unreadable: [] };

const SELECT_TREE = `SELECT fence, fence_reserved, boot_id, held, waiting, audit_seq, audit_hash FROM trees WHERE tree = ?`;
const PUT_TREE = `INSERT INTO trees (tree, fence, fence_reserved, boot_id, held, waiting, audit_seq, audit_hash)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (tree) DO UPDATE SET fence = excluded.fence, fence_reserved = excluded.fence_reserved,
    boot_id = excluded.boot_id, held = excluded.held, waiting = excluded.waiting, audit_seq = excluded.audit_seq,
    audit_hash = excluded.audit_hash`;

function toTree(row: Row | undefined): Tree | null {
  if (row === undefined) return null;
  const [fence, reserved, bootId, held, waiting, auditSeq, auditHash] = row as [
    number,
    number,
    string,
    number,
    number,
    number,
    string,
  ];
  return { fence, reserved, bootId, held, waiting, auditSeq, auditHash };
}
