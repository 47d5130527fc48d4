/**
 * One tree of a file store, under its guard.
 *
 * A step on one tree:
 *   1. append the audit entries behind the end that tree.json names    a crash leaves a tail nobody counts: cut off
 *   2. write tree.json: chain head, fence, own grants, `pending`       THE COMMIT. One write of one page.
 *   3. write the files of nodes below from `pending`                   a crash leaves `pending`: done again
 *   4. write tree.json without `pending`                               the same
 * Steps 3 and 4 are needed only when a key below the tree's own changed. Whoever takes the guard next repairs what a
 * crash left, before looking at anything, and a crash while repairing leaves the same to repair.
 *
 * A step on several trees holds all their guards: each tree.json gets the new state as `op`, which counts only if the
 * file ops/<id>.json exists; creating that file is the commit. Then each tree takes its `op` over and the file goes.
 *
 * After a restart of the machine nothing unsynced can be relied on: fences go on behind the reserved block, grants of
 * processes are dead anyway, and detached grants were synced when they were made.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type AuditDraft, type AuditEntry, type ChainHead, chain } from "../../lock/audit.js";
import { type Grant, SCHEMA_VERSION, type Ticket } from "../../lock/grant.js";
import type { Key } from "../../lock/key.js";
import type { Instant } from "../../lock/time.js";
import { HoldfastError, ioError, isHoldfastError } from "../../support/errors.js";
import { type Guard, openGuard } from "../../support/guard.js";
import { encodeGrant, type StoredGrant } from "../grant-codec.js";
import { AuditFile } from "./audit-file.js";
import { BlockFile } from "./block-file.js";
import { type ChainStory, endAfterRestart, readStory } from "./chain.js";
import type { Decisions } from "./decisions.js";
import type { FenceFloor } from "./fence-floor.js";
import { LineFile, NOBODY } from "./line-file.js";
import { decodeInto, type Found, type NodeChange, type NodeContent, NodeFiles, nothingFound } from "./nodes.js";

/** Numbers reserved by one write that reaches the disk. */
const FENCE_BLOCK = 1_000;

/** tree.json */
export interface TreeRecord {
  readonly schema_version: number;
  readonly tree: Key;
  readonly boot_id: string;
  readonly fence: number;
  readonly fence_reserved: number;
  readonly audit: { readonly seq: number; readonly hash: string; readonly bytes: number };
  /** How many grants there are on keys below the tree's own. */
  readonly below: number;
  /** False: nobody is in line, line.json need not be read. */
  readonly waiting: boolean;
  readonly grants: readonly StoredGrant[];
  readonly pending?: readonly NodeChange[];
  /** `durable`: once carried out it must survive a power cut, since its decision goes then. */
  readonly op?: { readonly id: string; readonly next: TreeRecord; readonly durable?: true };
}

/** A node's new content, and what it says if all of it could be understood. */
interface DecodedImage extends NodeContent {
  readonly decoded: readonly Grant[] | null;
}

/** What a step makes of a tree, ready to be written. */
export interface TreeStep {
  readonly record: TreeRecord;
  /** The grants on the tree's own key, when they change and all are understood. */
  readonly own: readonly Grant[] | null;
  readonly images: readonly NodeContent[];
  readonly lines: string;
  readonly durable: boolean;
}

export interface TreeChanges {
  readonly adds: Grant[];
  readonly updates: Grant[];
  readonly drops: Grant[];
  readonly audit: AuditDraft[];
}

export class FileTree {
  readonly name: Key;
  readonly guard: Guard;
  /** Steps under way or waiting for the guard: it stays open for them. */
  users = 0;
  readonly #nodes: NodeFiles;
  readonly #file: BlockFile<TreeRecord>;
  readonly #line: LineFile;
  readonly #fence: BlockFile<{ readonly reserved: number }>;
  readonly #audit: AuditFile;
  readonly #floor: FenceFloor;
  readonly #decisions: Decisions;
  #record: TreeRecord | null = null;
  #grants: { readonly from: TreeRecord; readonly found: Found } | null = null;
  #fenceUsed = 0;
  /** Who waits, as read in this step. */
  #tickets: readonly Ticket[] | null = null;
  /** There is no tree.json yet. */
  #isNew = false;

  constructor(name: Key, folder: string, decisions: Decisions, floor: FenceFloor) {
    this.name = name;
    this.#nodes = new NodeFiles(folder, name);
    this.#decisions = decisions;
    this.#floor = floor;
    try {
      mkdirSync(folder, { recursive: true });
    } catch (error) {
      throw ioError(error, "create", folder);
    }
    this.guard = openGuard(join(folder, "guard"));
    this.#file = new BlockFile(join(folder, "tree.json"));
    this.#line = new LineFile(join(folder, "line.json"));
    this.#fence = new BlockFile(join(folder, "fence.json"));
    this.#audit = new AuditFile(join(folder, "audit.jsonl"));
  }

  /** Call it first after entering the guard: reads the tree and repairs what a crash left. */
  load(now: Instant): void {
    this.#nodes.forget();
    this.#tickets = null;
    const found = this.#read(now);
    if (found === null) {
      this.#begin(now);
      return;
    }
    this.#isNew = false;
    this.#record = found;
    this.#record = this.#repaired(found);
    this.#fenceUsed = this.record.fence;
    if (this.record.boot_id !== now.bootId) this.#afterRestart(this.record, now);
    else if (!this.#file.isUnchanged) this.#cutTail(this.record);
  }

  /**
   * In place only what a power cut may take is written, so a record torn by one held no grant that outlives the machine,
   * and is begun anew. One that became unreadable otherwise is left for a person to look at.
   */
  #read(now: Instant): TreeRecord | null {
    try {
      const record = this.#file.read();
      if (record !== null) assertUsable(record, this.#file.path);
      return record;
    } catch (error) {
      if (!isHoldfastError(error, "E_STORE_CORRUPT") || !this.#file.isOlderThan(bootedAt(now))) throw error;
      return null;
    }
  }

  /**
   * Entries are read only up to the counted end, so an uncounted tail does no harm; it is cut when somebody else was
   * here since, and not looked for when nobody was.
   */
  #cutTail({ audit }: TreeRecord): void {
    if (this.#audit.size() > audit.bytes) this.#audit.truncate(audit.bytes);
  }

  get record(): TreeRecord {
    if (this.#record === null) throw new Error("the tree is used without its guard");
    return this.#record;
  }

  near(key: Key, found: Found): void {
    const own = this.#ownGrants();
    found.grants.push(...own.grants);
    found.unreadable.push(...own.unreadable);
    if (this.record.below > 0) this.#nodes.around(key, found, true);
  }

  /** `E_STORE_CORRUPT` when what is held there cannot be read: that is no proof that it is not held. */
  find(resource: Key, lockId: string): Grant | null {
    const { grants, unreadable, strange } = this.#at(resource);
    const found = grants.find((grant) => grant.lockId === lockId);
    if (found === undefined && unreadable.length > strange.length)
      throw new HoldfastError("E_STORE_CORRUPT", `${resource} is not readable: ${unreadable[0]?.why}`);
    return found ?? null;
  }

  tickets(): readonly Ticket[] {
    this.#tickets ??= this.#readLine();
    return this.#tickets;
  }

  #readLine(): readonly Ticket[] {
    if (!this.record.waiting) return NOBODY;
    try {
      return this.#line.read();
    } catch {
      return NOBODY; // Whoever still waits takes a new place.
    }
  }

  /** The next number: reserved on the disk before it is used, whoever uses it. */
  mint(now: Instant): number {
    if (this.#fenceUsed >= this.record.fence_reserved) {
      const reserved = this.#fenceUsed + FENCE_BLOCK;
      this.#fence.read();
      this.#fence.write({ reserved }, true);
      this.#record = { ...this.record, boot_id: now.bootId, fence_reserved: reserved };
    }
    this.#fenceUsed += 1;
    return this.#fenceUsed;
  }

  writeLine(tickets: readonly Ticket[]): void {
    const waiting = tickets.length > 0;
    if (waiting !== this.record.waiting) this.#write({ ...this.record, waiting }, false);
    this.#tickets = null;
    this.#line.write(tickets);
    this.#tickets = tickets;
  }

  /** What the changes make of this tree. Writes nothing. */
  step(changes: TreeChanges, durable: boolean): TreeStep {
    const images = this.#imagesAfter(changes);
    const own = images.find((image) => image.resource === this.name);
    const { head, lines } = this.#chained(changes.audit);
    const before = this.record;
    return {
      own: own?.decoded ?? null,
      images: own === undefined ? images : images.filter((image) => image !== own),
      lines,
      durable,
      record: {
        schema_version: before.schema_version,
        tree: before.tree,
        boot_id: before.boot_id,
        fence: this.#fenceUsed,
        fence_reserved: before.fence_reserved,
        audit: { seq: head.seq, hash: head.hash, bytes: before.audit.bytes + Buffer.byteLength(lines) },
        below: before.below + this.#countBelow(changes.adds) - this.#countBelow(changes.drops),
        waiting: before.waiting,
        grants: own?.grants ?? before.grants,
      },
    };
  }

  #countBelow(grants: readonly Grant[]): number {
    let count = 0;
    for (const grant of grants) if (grant.resource !== this.name) count += 1;
    return count;
  }

  /** A step on this tree alone. */
  commit(step: TreeStep): void {
    this.#appendAudit(step);
    if (step.images.length === 0) {
      this.#write(step.record, step.durable);
      if (step.own !== null) this.#grants = { from: step.record, found: { ...nothingFound(), grants: [...step.own] } };
      return;
    }
    this.#write({ ...step.record, pending: pendingOf(step) }, step.durable);
    this.takeOver();
  }

  /** Part of a step on several trees: announced here, decided by the file of the operation. */
  announce(step: TreeStep, id: string): void {
    this.#appendAudit(step);
    const next = step.images.length === 0 ? step.record : { ...step.record, pending: pendingOf(step) };
    const op = step.durable ? { id, next, durable: true as const } : { id, next };
    this.#write({ ...this.record, op }, step.durable);
  }

  /**
   * Carries out what is decided. An error here changes nothing about that: it is left to whoever takes the guard next,
   * and the caller is told the truth, that it has what it asked for. False while the decision is still needed.
   */
  takeOver(): boolean {
    try {
      this.#record = this.#repaired(this.record);
      return true;
    } catch {
      return false; // Still announced or pending in tree.json.
    }
  }

  #repaired(record: TreeRecord): TreeRecord {
    const settled = record.op === undefined ? record : this.#settle(record, record.op);
    return settled.pending === undefined ? settled : this.#finish(settled, settled.pending);
  }

  close(): void {
    this.guard.close();
    this.#file.close();
    this.#line.close();
    this.#fence.close();
    this.#audit.close();
  }

  #ownGrants(): Found {
    const { record } = this;
    if (this.#grants?.from.grants === record.grants) return this.#grants.found;
    const found = nothingFound();
    decodeInto(record.grants, this.name, found);
    this.#grants = { from: record, found };
    return found;
  }

  #at(resource: Key): Found {
    return resource === this.name ? this.#ownGrants() : this.#nodes.at(resource);
  }

  /** The nodes the changes touch, each with all the grants it will have. */
  #imagesAfter({ adds, updates, drops }: TreeChanges): DecodedImage[] {
    const nodes = new Map<Key, { readonly grants: Map<string, Grant>; readonly strange: readonly StoredGrant[] }>();
    const at = (resource: Key): Map<string, Grant> => {
      let node = nodes.get(resource);
      if (node === undefined) {
        const { grants, strange } = this.#at(resource);
        node = { grants: new Map(grants.map((grant) => [grant.lockId, grant])), strange };
        nodes.set(resource, node);
      }
      return node.grants;
    };
    for (const grant of drops) at(grant.resource).delete(grant.lockId);
    for (const grant of adds) at(grant.resource).set(grant.lockId, grant);
    for (const grant of updates) at(grant.resource).set(grant.lockId, grant);
    return [...nodes].map(([resource, { grants, strange }]) => ({
      resource,
      grants: [...[...grants.values()].map(encodeGrant), ...strange],
      decoded: strange.length === 0 ? [...grants.values()] : null,
    }));
  }

  #chained(drafts: readonly AuditDraft[]): { head: ChainHead; lines: string } {
    let head: ChainHead = { seq: this.record.audit.seq, hash: this.record.audit.hash };
    let lines = "";
    for (const draft of drafts) {
      const entry = chain(head, draft);
      lines += `${entry.line}\n`;
      head = entry.head;
    }
    return { head, lines };
  }

  /** A tree begins with its record: an entry without one would pass for what is left of a lost tree. */
  #appendAudit({ lines, durable }: TreeStep): void {
    if (lines === "") return;
    if (this.#isNew) this.#write(this.record, false);
    this.#audit.append(lines, this.record.audit.bytes);
    if (durable) this.#audit.sync();
  }

  /** A record with detached grants is never written over in place: a power cut could tear it. */
  #write(record: TreeRecord, durable: boolean): void {
    const before = this.#record;
    this.#file.write(record, durable || outlivesMachine(record) || (before !== null && outlivesMachine(before)));
    this.#record = record;
    this.#isNew = false;
  }

  #settle(record: TreeRecord, { id, next, durable }: NonNullable<TreeRecord["op"]>): TreeRecord {
    const { op: _, ...before } = record;
    const isDecided = this.#decisions.isMade(id);
    const settled = isDecided ? next : before;
    if (!isDecided) this.#audit.truncate(before.audit.bytes);
    this.#write(settled, durable === true);
    return settled;
  }

  #finish(record: TreeRecord, pending: readonly NodeChange[]): TreeRecord {
    for (const change of pending) this.#nodes.write(change);
    const { pending: _, ...finished } = record;
    this.#write(finished, false);
    return finished;
  }

  /** A tree without a record: a new one, or one that lost it. */
  #begin(now: Instant): void {
    const story = readStory(this.#audit.path, this.#audit.size());
    const isLost = story.end.seq > 0;
    if (isLost) this.#assertNothingForgotten(story, now);
    this.#record = this.#newRecord(story, now);
    this.#fenceUsed = this.record.fence;
    this.#isNew = !isLost;
    if (isLost) this.#note(now, "the record of the tree was lost", 0);
  }

  /**
   * What the audit calls held must be on record. Only a restart may take a record away: then whatever it held is over,
   * for a record that must outlive the machine is never written so that it can be lost. `E_STORE_CORRUPT`
   */
  #assertNothingForgotten({ live }: ChainStory, now: Instant): void {
    if (this.#audit.isOlderThan(bootedAt(now))) return;
    const isOnRecord = ({ resource, lock_id }: AuditEntry): boolean =>
      resource !== this.name && this.#nodes.at(resource as Key).grants.some((grant) => grant.lockId === lock_id);
    const forgotten = live.find((entry) => !isOnRecord(entry));
    if (forgotten === undefined) return;
    throw new HoldfastError(
      "E_STORE_CORRUPT",
      `${this.#file.path} is gone, and with it the record of what ${forgotten.owner} holds on ${forgotten.resource}`,
      {
        details: { path: this.#file.path, resource: forgotten.resource, lock_id: forgotten.lock_id },
        next: ["Put the file back from a copy; or end everything that uses this tree, then move its folder away."],
      },
    );
  }

  #newRecord({ end, highestToken }: ChainStory, now: Instant): TreeRecord {
    const reserved = this.#fence.read()?.reserved;
    const start = Math.max(reserved ?? this.#floor.startOfNewTree(now, FENCE_BLOCK), highestToken);
    return {
      schema_version: SCHEMA_VERSION,
      tree: this.name,
      boot_id: now.bootId,
      fence: start,
      fence_reserved: reserved ?? (highestToken > 0 ? start : start + FENCE_BLOCK),
      audit: end,
      below: this.#nodes.count(bootedAt(now)),
      waiting: false,
      grants: [],
    };
  }

  /** The reserved mark is on the disk, everything else may be older than it was: numbers go on behind the mark. */
  #afterRestart(record: TreeRecord, now: Instant): void {
    const fence = Math.max(record.fence, record.fence_reserved, this.#fence.read()?.reserved ?? 0);
    const end = endAfterRestart(this.#audit.path, record.audit);
    const below = this.#nodes.count(bootedAt(now));
    this.#audit.truncate(end.bytes);
    const repaired = { ...record, boot_id: now.bootId, fence, fence_reserved: fence, audit: end, below };
    this.#fenceUsed = fence;
    if (end.hash === record.audit.hash) this.#write(repaired, false);
    else {
      this.#record = repaired;
      const reason = "the machine restarted before these entries reached the disk";
      this.#note(now, reason, record.audit.seq - end.seq);
    }
  }

  /** Puts on record that the chain was mended, in the very step that mends it. */
  #note(now: Instant, reason: string, lost: number): void {
    const note: AuditDraft = {
      at: now.wallMs,
      event: "chain_repaired",
      resource: this.name,
      owner: "service:holdfast",
      holderId: "",
      fencingToken: null,
      lockId: null,
      details: { reason, lost },
    };
    this.commit(this.step({ adds: [], updates: [], drops: [], audit: [note] }, true));
  }
}

function bootedAt(now: Instant): number {
  return now.wallMs - now.bootMs;
}

/** `E_FORMAT_UNSUPPORTED`, `E_STORE_CORRUPT` */
export function assertUsable(record: TreeRecord, path: string): void {
  if (record.schema_version > SCHEMA_VERSION)
    throw new HoldfastError("E_FORMAT_UNSUPPORTED", `${path} was written by a newer version of holdfast`);
  const { fence, fence_reserved, audit, below, grants } = record;
  const isSane =
    Number.isSafeInteger(fence) &&
    Number.isSafeInteger(fence_reserved) &&
    Number.isSafeInteger(audit?.seq) &&
    Number.isSafeInteger(audit.bytes) &&
    Number.isSafeInteger(below) &&
    Array.isArray(grants);
  if (!isSane) throw new HoldfastError("E_STORE_CORRUPT", `${path} makes no sense`, { details: { path } });
}

function outlivesMachine({ grants, pending, op }: TreeRecord): boolean {
  const isDetached = (grant: StoredGrant): boolean => grant.store?.detached ?? false;
  return (
    grants.some(isDetached) ||
    (pending?.some((node) => node.grants.some(isDetached)) ?? false) ||
    (op !== undefined && outlivesMachine(op.next))
  );
}

function pendingOf({ images, durable }: TreeStep): NodeChange[] {
  return images.map(({ resource, grants }) => (durable ? { resource, grants, durable } : { resource, grants }));
}
