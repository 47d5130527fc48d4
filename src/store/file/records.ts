/**
 * Reads a file store without any guard, and without creating anything. A file caught half-written is read again. Steps
 * that a crash left decided or pending are shown as done: the next holder of the guard will finish them.
 */
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { HoldfastError } from "../../base/errors.js";
import { ifThere } from "../../files/if-there.js";
import { type AuditEntry, EMPTY_CHAIN, follow, matches } from "../../lock/audit.js";
import type { Grant, Ticket } from "../../lock/grant.js";
import { isKey, isWithin, type Key, treeOf } from "../../lock/key.js";
import { lineOf } from "../../lock/queue.js";
import { readEntry } from "../../lock/stored-entry.js";
import type { Clock } from "../../platform/clock.js";
import type { AuditPage, ListPage } from "../contract.js";
import type { LedgerRecords } from "../ledger.js";
import { placesIn } from "../local/first-tickets.js";
import { AuditFile } from "./audit/audit-file.js";
import { encodeSegment } from "./encoding.js";
import { type Layout, treeFolder, treeFolders } from "./layout.js";
import { ManifestFiles } from "./publish/manifest-files.js";
import { Decisions } from "./tree/decisions.js";
import { assertNothingLost } from "./tree/initial-tree.js";
import { isTwofold, joined, keptIn, keptNear } from "./tree/kept-grants.js";
import { decodeInto, type Found, type NodeContent, NodeFiles, nothingFound } from "./tree/node-files.js";
import { parsePlaces } from "./tree/queue-file.js";
import { readBlock } from "./tree/read-block.js";
import { assertUsable, type TreeRecord } from "./tree/tree-record.js";

const TRIES = 20;

export function createFileRecords(layout: Layout, clock: Clock): LedgerRecords {
  const bookmarks = new Map<Key, Bookmarks>();
  const decisions = new Decisions(layout.ops);
  const manifests = new ManifestFiles(layout.manifests);
  const recordIn = (folder: string): TreeRecord | null => settledRecord(join(folder, "tree.json"), decisions);
  const recordOf = (tree: Key): TreeRecord | null => recordIn(treeFolder(layout, tree));
  const chainOf = (tree: Key): string => join(treeFolder(layout, tree), "audit.jsonl");
  const lineFileOf = (tree: Key): string => join(treeFolder(layout, tree), "line.jsonl");

  const around = (key: Key): Found => {
    for (let tries = 1; ; tries += 1) {
      const tree = treeOf(key);
      const record = recordOf(tree);
      if (record === null) {
        // mutant: file-lost-record-read: assertNothingLost(tree, treeFolder(layout, tree), clock()); →
        assertNothingLost(tree, treeFolder(layout, tree), clock());
        return nothingFound();
      }
      // In this order: what leaves tree.json is in its file then.
      const filed = new NodeFiles(treeFolder(layout, record.tree), record.tree).around(key, false);
      const kept = keptNear(keptIn(record), record.tree, key);
      const found = joined(kept, filed);
      const shown = record.pending === undefined ? found : withPending(found, record.pending, key);
      const isTorn = shown.unreadable.length > shown.strange.length || isTwofold(kept, filed);
      if (!isTorn || tries >= TRIES) return shown;
    }
  };

  const trees = (stem = ""): TreeRecord[] =>
    treeFolders(layout)
      .filter((folder) => basename(folder).startsWith(encodeSegment(stem)))
      .flatMap((folder) => recordIn(folder) ?? notLost(folder));

  const notLost = (folder: string): readonly TreeRecord[] => {
    const tree = treeBehind(folder);
    // mutant: file-lost-record-listed: if (tree !== null) assertNothingLost → if (tree === "") assertNothingLost
    if (tree !== null) assertNothingLost(tree, folder, clock());
    return [];
  };

  return {
    near: (key) => ({ ...around(key), line: lineOf(ticketsAt(key, lineFileOf(treeOf(key)))) }),
    lastFence: (tree) => recordOf(tree)?.fence ?? 0,
    list: (page) =>
      listPage(page, page.prefix === null ? trees(page.stem).map(({ tree }) => tree) : [treeOf(page.prefix)], around),
    waiting: (limit) =>
      placesIn(
        trees().flatMap(({ tree, waiting }) => (waiting ? [tree] : [])),
        (tree) => placesAt(lineFileOf(tree)),
        limit,
      ),
    heads() {
      const heads = new Map<Key, number>();
      for (const folder of treeFolders(layout)) {
        const record = recordIn(folder);
        const lost = record === null ? treeBehind(folder) : null;
        if (lost !== null) heads.set(lost, 0);
        if (record !== null && record.audit.seq > 0) heads.set(record.tree, record.audit.seq);
      }
      return heads;
    },
    audit(page) {
      const record = recordOf(page.tree);
      return record === null ? [] : readEntries(chainOf(page.tree), record, page, bookmarks);
    },
    manifests: (page) => manifests.page(page),
    files: (manifest, after, limit) => manifests.files(manifest, after, limit),
    checkChain(tree) {
      const record = recordOf(tree);
      if (record !== null) return checkChain(chainOf(tree), record);
      const why = "the record of where the chain ends is missing";
      return { entries: 0, bad: treeBehind(treeFolder(layout, tree)) === null ? null : { tree, seq: 1, why } };
    },
  };
}

/** A step on several trees counts from its decision on. One that is gone was carried out, so the record is read again. */
function settledRecord(path: string, decisions: Decisions): TreeRecord | null {
  let announced: string | null = null;
  for (let tries = 1; ; tries += 1) {
    const record = readBlock<TreeRecord>(path);
    if (record === null) return null;
    assertUsable(record, path);
    if (record.op === undefined) return record;
    const { op, ...before } = record;
    if (decisions.isMade(op.id)) return op.next;
    if (announced === op.id || tries >= TRIES) return before;
    announced = op.id;
  }
}

/** The nodes of a step that was not carried out to its end: what they will hold instead of what their files say. */
function withPending(found: Found, pending: readonly NodeContent[], key: Key): Found {
  const changed = new Set<string>(pending.map(({ resource }) => resource));
  const isLeft = (held: { readonly resource: string } | null): boolean => !changed.has(held?.resource ?? "");
  const shown: Found = {
    grants: found.grants.filter(isLeft),
    unreadable: found.unreadable.filter(isLeft),
    strange: found.strange.filter(isLeft),
  };
  for (const { resource, grants } of pending)
    if (isWithin(resource, key) || isWithin(key, resource)) decodeInto(shown, grants, () => resource);
  return shown;
}

/** Places that cannot be read are taken anew by whoever waits. */
function ticketsAt(key: Key, path: string): Ticket[] {
  return placesAt(path).filter(({ wants }) =>
    wants.some(({ resource }) => isWithin(resource, key) || isWithin(key, resource)),
  );
}

function placesAt(path: string): Ticket[] {
  return ifThere(path, (fd) => parsePlaces(readFileSync(fd, "utf8"))) ?? [];
}

/** Returns the tree whose chain lies in a folder, or null when it has none. The folder's name is that of the tree, encoded. */
function treeBehind(folder: string): Key | null {
  const path = join(folder, "audit.jsonl");
  let isEmpty = true;
  for (const { text } of AuditFile.lines(path, 0, Number.MAX_SAFE_INTEGER)) {
    isEmpty = false;
    const tree = treeIn(text);
    if (tree !== null && encodeSegment(tree) === basename(folder)) return tree;
  }
  const name = basename(folder);
  if (isEmpty) return null;
  // mutant: file-damaged-tree: if (isKey(name) && encodeSegment(name) === name) → if (name === "")
  if (isKey(name) && encodeSegment(name) === name) return treeOf(name as Key);
  throw new HoldfastError("E_STORE_CORRUPT", `${path} has no entry that can be read`, { details: { path } });
}

function treeIn(line: string): Key | null {
  try {
    const { resource } = JSON.parse(line) as { readonly resource?: unknown };
    return typeof resource === "string" && isKey(resource) ? treeOf(resource as Key) : null;
  } catch {
    return null;
  }
}

function listPage({ prefix, after, limit }: ListPage, trees: readonly Key[], around: (key: Key) => Found): Grant[] {
  const found: Grant[] = [];
  for (const tree of [...trees].sort()) {
    if (after !== null && `${tree}0` <= after.resource) continue; // "0" is what comes after "/".
    // Keys of `a` may come after those of `a-b`, so a page that has enough may not be full yet.
    if (found.length >= limit) {
      found.sort(byPlace).length = limit;
      if ((found.at(-1)?.resource ?? "") < tree) break;
    }
    const grants = around(prefix ?? tree).grants.filter((grant) => prefix === null || isWithin(grant.resource, prefix));
    for (const grant of grants) if (after === null || comesAfter(grant, after)) found.push(grant);
  }
  return found.sort(byPlace).slice(0, limit);
}

type Place = Pick<Grant, "resource" | "lockId">;

function comesAfter(grant: Grant, place: Place): boolean {
  return byPlace(grant, place) > 0;
}

function byPlace(a: Place, b: Place): number {
  if (a.resource !== b.resource) return a.resource < b.resource ? -1 : 1;
  return a.lockId < b.lockId ? -1 : a.lockId > b.lockId ? 1 : 0;
}

/** A place in the file of a chain: behind the entry of this number. */
interface Bookmark {
  readonly seq: number;
  readonly end: number;
}

/** Known places, so that reading on, or backwards page by page, does not read everything again. */
interface Bookmarks {
  /** One every so often, as far as somebody has read. */
  readonly passed: Bookmark[];
  /** Where reading stopped last. */
  last: Bookmark;
}

const BEGINNING: Bookmark = { seq: 0, end: 0 };
const MARK_EVERY = 500;

function readEntries(
  path: string,
  { audit, tree }: TreeRecord,
  page: AuditPage,
  bookmarks: Map<Key, Bookmarks>,
): AuditEntry[] {
  const found: AuditEntry[] = [];
  const known = bookmarks.get(tree) ?? { passed: [BEGINNING], last: BEGINNING };
  bookmarks.set(tree, known);
  const isBefore = ({ seq, end }: Bookmark): boolean => seq <= page.afterSeq && end <= audit.bytes;
  const passed = known.passed.findLast(isBefore) ?? BEGINNING;
  let at = isBefore(known.last) && known.last.seq > passed.seq ? known.last : passed;
  for (const { text, end } of AuditFile.lines(path, at.end, audit.bytes)) {
    const seq = at.seq + 1;
    // An entry that is passed over is not read if it begins as the next one.
    const isPassed = seq <= page.afterSeq && text.startsWith(`{"seq":${seq},`);
    const entry = isPassed ? null : readEntry(text, { tree, seq });
    // mutant: file-damaged-number: seq: Math.max(at.seq, entry?.seq ?? seq), end }; → seq, end };
    at = { seq: Math.max(at.seq, entry?.seq ?? seq), end };
    if (at.seq >= (known.passed.at(-1)?.seq ?? 0) + MARK_EVERY) known.passed.push(at);
    if (entry === null || entry.seq <= page.afterSeq) continue;
    if (matches(entry, page)) found.push(entry);
    if (found.length === page.limit) break;
  }
  known.last = at;
  return found;
}

function checkChain(path: string, { tree, audit }: TreeRecord): ReturnType<LedgerRecords["checkChain"]> {
  let head = EMPTY_CHAIN;
  for (const { text } of AuditFile.lines(path, 0, audit.bytes)) {
    const next = follow(head, text);
    if (next === null) return { entries: head.seq, bad: { tree, seq: head.seq + 1, why: "altered or out of place" } };
    head = next;
  }
  const isWhole = head.seq === audit.seq && head.hash === audit.hash;
  return { entries: head.seq, bad: isWhole ? null : { tree, seq: head.seq + 1, why: "the end is missing" } };
}
