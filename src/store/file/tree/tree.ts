/**
 * One tree of a file store, under its guard.
 *
 * A step on one tree:
 *   1. append the audit entries behind the end that tree.json names    a crash leaves a tail that is ignored: cut off
 *   2. write tree.json: chain head, fence, kept grants, `pending`      THE COMMIT. One write of one page.
 *   3. write the files of nodes below from `pending`                   a crash leaves `pending`: done again
 *   4. write tree.json without `pending`                               the same
 * Steps 3 and 4 are needed only when a key with a file of its own changed (kept-grants.ts says which have one). The next
 * process in the guard repairs what a crash left before it reads anything, and a crash during the repair leaves the same to
 * repair.
 *
 * A step on several trees holds all their guards: each tree.json gets the new state as `op`, which counts only if the
 * file ops/<id>.json exists; creating that file is the commit. Then each tree adopts its `op` and the file is removed.
 *
 * After a reboot nothing unsynced can be relied on: fences continue behind the reserved block, grants of processes are dead
 * anyway, and each step that makes, changes or ends a detached grant is durable (store/durability.ts).
 * A durable step syncs the audit in 1, replaces and syncs tree.json in 2, and replaces and syncs the files of nodes in 3. A
 * power cut after 1 leaves the old state; after 2 or 3 it leaves `pending`, which the next step carries out once more. So a
 * grant that such a step ended is gone for good, whatever took its place.
 *
 * protocol: file store page
 */
import { join } from "node:path";
import { isSameBoot } from "../../../base/boot.js";
import { HoldfastError, ioError, isHoldfastError } from "../../../base/errors.js";
import { FolderNames } from "../../../files/folder-names.js";
import { type Guard, openGuard } from "../../../files/guard.js";
import type { AuditDraft } from "../../../lock/audit.js";
import type { Grant, Ticket } from "../../../lock/grant.js";
import type { Key } from "../../../lock/key.js";
import type { Manifest } from "../../../lock/manifest.js";
import { type Line, NOBODY_WAITS } from "../../../lock/queue.js";
import type { Instant } from "../../../lock/time.js";
import { makeFolder } from "../../../platform/folder-rights.js";
import { isThere } from "../../../platform/look-up.js";
import { decodeGrant } from "../../local/grant-codec.js";
import { AuditFile } from "../audit/audit-file.js";
import type { ManifestFiles } from "../publish/manifest-files.js";
import { BlockFile } from "./block-file.js";
import type { Decisions } from "./decisions.js";
import type { FenceFloor } from "./fence-floor.js";
import { beginning, bootedAt, bootNoted, FENCE_BLOCK, restarted, type TreeRemains } from "./initial-tree.js";
import { atNode, joined, keptIn, keptNear, withoutTorn } from "./kept-grants.js";
import { type Found, merge, NodeFiles } from "./node-files.js";
import { LineFile } from "./queue-file.js";
import { TreeManifests } from "./tree-manifests.js";
import { inOneShape, outlivesMachine, TREE_CODEC, type TreeRecord } from "./tree-record.js";
import { stepAfter, type TreeChanges, type TreeStep, withPending } from "./tree-step.js";

const NOTHING: readonly Manifest[] = [];

export class FileTree {
  readonly name: Key;
  readonly guard: Guard;
  /** Steps under way or waiting for the guard: it stays open for them. */
  users = 0;
  /** The number of the last step that asked for it: of those without users, the one with the lowest is closed first. */
  lastStep = 0;
  /** Looked at when the guard is entered. */
  readonly #names: FolderNames;
  readonly #nodes: NodeFiles;
  readonly #file: BlockFile<TreeRecord>;
  readonly #line: LineFile;
  readonly #fence: BlockFile<{ readonly reserved: number }>;
  readonly #audit: AuditFile;
  readonly #floor: FenceFloor;
  readonly #decisions: Decisions;
  readonly #manifests: TreeManifests;
  /** The folder of those that are pending. */
  readonly #publishing: string;
  #record: TreeRecord | null = null;
  #kept: { readonly from: TreeRecord; readonly found: Found } | null = null;
  #fenceUsed = 0;
  /** Who waits, once it was read in this step. */
  #waiting: Line | null = null;
  /** What somebody else wrote may have been read already, outside of a step. */
  #isPeeked = false;
  /** There is no tree.json yet. */
  #isNew = false;
  #wasHere = false;

  /** `beforeMaking` throws when no folder may be made, because the store is not there any more. */
  constructor(
    name: Key,
    folder: string,
    decisions: Decisions,
    manifests: ManifestFiles,
    floor: FenceFloor,
    beforeMaking: () => void,
  ) {
    this.name = name;
    this.#publishing = join(folder, "publishing");
    this.#manifests = new TreeManifests(manifests, name, this.#publishing);
    this.#nodes = new NodeFiles(folder, name);
    this.#decisions = decisions;
    this.#floor = floor;
    beforeMaking();
    try {
      makeFolder(folder);
    } catch (error) {
      throw ioError(error, "create", folder);
    }
    const record = join(folder, "tree.json");
    this.#names = new FolderNames(folder);
    this.guard = openGuard(join(folder, "guard"), { writtenInside: record, names: this.#names, beforeMaking });
    this.#file = new BlockFile(record, this.#names, TREE_CODEC);
    this.#line = new LineFile(join(folder, "line.jsonl"), name, this.#names);
    this.#fence = new BlockFile(join(folder, "fence.json"));
    this.#audit = new AuditFile(join(folder, "audit.jsonl"), this.#names);
  }

  /** Call it first after entering the guard: reads the tree and repairs what a crash left. */
  load(now: Instant): void {
    this.#nodes.forget();
    this.#waiting = null;
    const found = this.#read(now);
    if (found === null) {
      this.#begin(now);
      return;
    }
    this.#isNew = false;
    const isOfThisBoot = this.#isOfThisBoot(found, now);
    const whole = isOfThisBoot ? found : this.#wholeOf(found, now);
    this.#record = whole;
    // mutant: file-step-repaired: this.#record = this.#repaired(whole); → this.#record = whole;
    this.#record = this.#repaired(whole);
    this.#fenceUsed = this.record.fence;
    if (!isOfThisBoot) this.#afterRestart(this.record, now, whole !== found);
    else if (!this.#file.isUnchanged || this.#isPeeked) this.#cutTail(this.record);
    this.#isPeeked = false;
    this.#wasHere = true;
  }

  /**
   * Where the boot is unknown there may have been a restart before each process, and there was none since it came: so its
   * first step goes on behind the reserved numbers, and believes everything else.
   */
  #isOfThisBoot({ boot_id: bootId }: TreeRecord, now: Instant): boolean {
    // mutant: file-unknown-boot-fence: now.bootId === "" ? this.#wasHere → now.bootId === "" ? true
    return now.bootId === "" ? this.#wasHere : isSameBoot({ bootId }, now);
  }

  /**
   * In place only what a power cut may take is written, so a record torn by one held no grant that outlives the machine,
   * and is begun anew. One that became unreadable otherwise is left for a person to look at. The time of the file tells
   * which it is, so the torn one is closed: the next write replaces it and leaves no mark in it.
   */
  #read(now: Instant): TreeRecord | null {
    try {
      return this.#file.read();
    } catch (error) {
      if (!isHoldfastError(error, "E_STORE_CORRUPT") || !this.#file.isOlderThan(bootedAt(now))) throw error;
      // mutant: file-lost-record-age: this.#file.close(); →
      this.#file.close();
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

  /**
   * The grant on this key with this token, if tree.json has it, looked for without the guard; false when there is none. Null
   * when that is not known: it may be in a file, or the tree is being written just now, is in need of repair, or was
   * replaced by hand: in the old file the token is not yet known.
   */
  peek(key: Key, tokenHash: string): Grant | false | null {
    this.#isPeeked = true;
    try {
      const record = this.#file.read();
      if (record === null || record.op !== undefined || !this.#file.isWhole()) return null;
      const stored = record.grants.find((grant) => grant.resource === key && grant.store?.token_hash === tokenHash);
      if (stored !== undefined) return decodeGrant(stored);
      return record.below === 0 && record.pending === undefined ? false : null;
    } catch {
      return null;
    }
  }

  near(key: Key, found: Found): void {
    const kept = keptNear(this.#keptGrants(), this.name, key);
    if (this.record.below === 0) merge(found, kept);
    else merge(found, joined(kept, this.#nodes.around(key, true)));
  }

  /** `E_STORE_CORRUPT` when what is held there cannot be read: that is no proof that it is not held. */
  find(resource: Key, lockId: string): Grant | null {
    const places = { record: this.record, kept: this.#keptGrants(), filed: this.#filed };
    const { grants, unreadable, strange } = atNode(places, resource);
    const found = grants.find((grant) => grant.lockId === lockId);
    if (found === undefined && unreadable.length > strange.length)
      throw new HoldfastError("E_STORE_CORRUPT", `${resource} is not readable: ${unreadable[0]?.why}`);
    return found ?? null;
  }

  /** Pending manifests of this tree, near one of the keys. */
  publishing(keys: readonly Key[]): readonly Manifest[] {
    return this.record.publishes === undefined ? NOTHING : this.#manifests.pending(keys);
  }

  line(): Line {
    this.#waiting ??= this.record.waiting ? this.#readLine() : NOBODY_WAITS;
    return this.#waiting;
  }

  nextTicketNumber(): number {
    return this.line().isEmpty ? 1 : this.#line.nextNumber;
  }

  #readLine(): Line {
    try {
      return this.#line.read();
    } catch {
      return NOBODY_WAITS; // Whoever still waits takes a new place.
    }
  }

  /** Returns the next number, higher than `above`: reserved on the disk before any process uses it. */
  mint(now: Instant, above: number): number {
    const since = this.#floor.since(now);
    // mutant: file-copied: if (this.#fenceUsed < since) → if (this.#fenceUsed < 0)
    if (this.#fenceUsed < since) this.#fenceUsed = Math.max(since, this.record.fence_reserved);
    this.#fenceUsed = Math.max(this.#fenceUsed, above);
    if (this.#fenceUsed >= this.record.fence_reserved) {
      // mutant: fence-reservation-file: #fenceUsed + FENCE_BLOCK → record.fence_reserved; this.#fenceUsed = reserved - 1_000
      const reserved = this.#fenceUsed + FENCE_BLOCK;
      this.#fence.read();
      this.#fence.write({ reserved }, true);
      this.#record = inOneShape({ ...this.record, boot_id: bootNoted(this.record, now), fence_reserved: reserved });
    }
    this.#fenceUsed += 1;
    return this.#fenceUsed;
  }

  /** That somebody waits is on record before the place is, and longer than it. */
  changeLine(drops: readonly Ticket[], adds: readonly Ticket[], updates: readonly Ticket[]): void {
    if (this.#waiting !== this.#line) this.#waiting = this.#line.read();
    if (adds.length + updates.length > 0) this.#noteWaiting(true);
    this.#line.change(drops, adds, updates);
    this.#noteWaiting(!this.#line.isEmpty);
  }

  #noteWaiting(waiting: boolean): void {
    if (waiting !== this.record.waiting) this.#write(inOneShape({ ...this.record, waiting }), false);
  }

  /** What the changes make of this tree. Writes nothing. */
  step(changes: TreeChanges, durable: boolean): TreeStep {
    const kept = this.#keptGrants();
    const before = { record: this.record, kept, filed: this.#filed, fenceUsed: this.#fenceUsed };
    const { manifests } = changes;
    // mutant: file-publishes-over: && this.#manifests.areLeftAfter(manifests); → && false;
    const isLeft = manifests.length > 0 && this.#manifests.areLeftAfter(manifests);
    const publishes = manifests.length === 0 ? this.record.publishes : isLeft || undefined;
    return stepAfter({ ...before, publishes }, changes, durable);
  }

  /** A step on this tree alone. */
  commit(step: TreeStep): void {
    this.#appendAudit(step);
    if (step.images.length === 0 && step.manifests.length === 0) {
      this.#write(step.record, step.durable);
      if (step.kept !== null)
        this.#kept = { from: step.record, found: { grants: [...step.kept], unreadable: [], strange: [] } };
      return;
    }
    this.#write(withPending(step), step.durable);
    this.takeOver();
  }

  /** Part of a step on several trees: announced here, decided by the file of the operation. */
  announce(step: TreeStep, id: string): void {
    this.#appendAudit(step);
    const next = withPending(step);
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
    return settled.pending === undefined && settled.manifests === undefined ? settled : this.#finish(settled);
  }

  close(): void {
    this.guard.close();
    this.#file.close();
    this.#line.close();
    this.#fence.close();
    this.#audit.close();
  }

  #keptGrants(): Found {
    const { record } = this;
    if (this.#kept?.from.grants === record.grants) return this.#kept.found;
    const found = keptIn(record);
    this.#kept = { from: record, found };
    return found;
  }

  readonly #filed = (resource: Key): Found | null =>
    this.record.below === 0 || resource === this.name ? null : this.#nodes.at(resource);

  /** A tree begins with its record: an entry without one would pass for what is left of a lost tree. */
  #appendAudit({ entries, durable }: TreeStep): void {
    if (entries.length === 0) return;
    if (this.#isNew) this.#write(this.record, false);
    this.#audit.append(entries, this.record.audit.bytes);
    if (durable) this.#audit.sync();
  }

  /** A record with detached grants is never written over in place: a power cut could tear it. */
  #write(record: TreeRecord, durable: boolean): void {
    const before = this.#record;
    // mutant: file-detached-in-place: outlivesMachine(record) || (before !== null && outlivesMachine(before) → (outlivesMachine(record) && before === record
    this.#file.write(record, durable || outlivesMachine(record) || (before !== null && outlivesMachine(before)));
    this.#record = record;
    this.#isNew = false;
  }

  #settle(record: TreeRecord, { id, next, durable }: NonNullable<TreeRecord["op"]>): TreeRecord {
    const { op: _, ...before } = record;
    const isDecided = this.#decisions.isMade(id);
    // mutant: file-several-decided: = isDecided ? next : before; → = isDecided ? next : (before && next);
    const settled = isDecided ? next : before;
    if (!isDecided) this.#audit.truncate(before.audit.bytes);
    this.#write(settled, durable === true);
    return settled;
  }

  #finish(record: TreeRecord): TreeRecord {
    const { pending = [], manifests = [], ...finished } = record;
    for (const change of pending) this.#nodes.write(change);
    for (const manifest of manifests) this.#manifests.write(manifest);
    this.#write(finished, false);
    return finished;
  }

  #begin(now: Instant): void {
    const { record, isLost, mended } = beginning(this.name, this.#remains(), now);
    this.#record = record;
    this.#isNew = !isLost;
    if (isLost && mended === null) this.#finishBeginning(record);
    this.#goOn(mended);
  }

  /** After a repair that stopped between the entry and the record. */
  #finishBeginning(record: TreeRecord): void {
    this.#audit.sync();
    this.#write(record, true);
  }

  /** Of a record that was written in place before the restart. */
  #wholeOf(record: TreeRecord, now: Instant): TreeRecord {
    // mutant: restart-torn-grants: ? record : withoutTorn(record); → ? record : record;
    return outlivesMachine(record) || !this.#file.isOlderThan(bootedAt(now)) ? record : withoutTorn(record);
  }

  #afterRestart(record: TreeRecord, now: Instant, wasTorn: boolean): void {
    const after = restarted(record, this.#remains(), now, wasTorn);
    this.#audit.truncate(after.record.audit.bytes);
    // mutant: file-torn-record-age: if (wasTorn) this.#file.close(); →
    if (wasTorn) this.#file.close(); // As in `#read`.
    if (after.mended === null) this.#write(after.record, false);
    else this.#record = after.record;
    this.#goOn(after.mended);
  }

  #remains(): TreeRemains {
    const { path } = this.#file;
    const fenceReserved = this.#fence.read()?.reserved;
    const publishes = isThere(this.#publishing);
    return { path, audit: this.#audit, nodes: this.#nodes, floor: this.#floor, fenceReserved, publishes };
  }

  /** A chain that was mended says so, in the very step that mends it. */
  #goOn(mended: AuditDraft | null): void {
    this.#fenceUsed = this.record.fence;
    if (mended === null) return;
    this.commit(this.step({ adds: [], updates: [], drops: [], manifests: [], audit: [mended] }, true));
  }
}
