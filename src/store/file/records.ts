/** Reading a file store without any guard, and without creating anything. A file caught half-written is read again. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type AuditEntry, EMPTY_CHAIN, follow, matches, parseEntry } from "../../lock/audit.js";
import type { Grant, Ticket } from "../../lock/grant.js";
import { isWithin, type Key, treeOf } from "../../lock/key.js";
import { HoldfastError } from "../../support/errors.js";
import type { AuditPage, ListPage } from "../contract.js";
import type { LedgerRecords } from "../ledger.js";
import { AuditFile } from "./audit-file.js";
import { type Layout, treeFolder } from "./layout.js";
import { parseLine } from "./line-file.js";
import { decodeInto, type Found, NodeFiles, nothingFound } from "./nodes.js";
import type { TreeRecord } from "./tree.js";

const TRIES = 20;

export function createFileRecords(layout: Layout): LedgerRecords {
  const bookmarks = new Map<Key, Bookmark>();
  const recordOf = (tree: Key): TreeRecord | null => readJson(join(treeFolder(layout, tree), "tree.json"));

  const around = (key: Key): Found => {
    const folder = treeFolder(layout, treeOf(key));
    const found = nothingFound();
    const record = recordOf(treeOf(key));
    if (record === null) return found;
    decodeInto(record.grants, record.tree, found);
    new NodeFiles(folder).around(key, found, false);
    return found;
  };

  const trees = (): TreeRecord[] =>
    namesIn(layout.locks)
      .map((name) => readJson<TreeRecord>(join(layout.locks, name, "tree.json")))
      .filter((record) => record !== null);

  return {
    near(key) {
      const folder = treeFolder(layout, treeOf(key));
      const tickets = readLine(join(folder, "line.json"));
      const concerned = tickets.filter((ticket) =>
        ticket.wants.some(({ resource }) => isWithin(resource, key) || isWithin(key, resource)),
      );
      return { ...around(key), tickets: concerned };
    },
    lastFence: (tree) => recordOf(tree)?.fence ?? 0,
    list: (page) =>
      listPage(page, page.prefix === null ? trees().map((record) => record.tree) : [treeOf(page.prefix)], around),
    heads: () => new Map(trees().flatMap(({ tree, audit }) => (audit.seq > 0 ? [[tree, audit.seq] as const] : []))),
    audit(page) {
      const record = recordOf(page.tree);
      return record === null
        ? []
        : readEntries(join(treeFolder(layout, page.tree), "audit.jsonl"), record, page, bookmarks);
    },
    checkChain(tree) {
      const record = recordOf(tree);
      if (record === null) return { entries: 0, bad: null };
      return checkChain(join(treeFolder(layout, tree), "audit.jsonl"), record);
    },
  };
}

function listPage({ prefix, after, limit }: ListPage, trees: readonly Key[], around: (key: Key) => Found): Grant[] {
  const found: Grant[] = [];
  for (const tree of [...trees].sort()) {
    if (after !== null && tree < treeOf(after.resource)) continue;
    const grants = around(prefix ?? tree).grants.filter((grant) => prefix === null || isWithin(grant.resource, prefix));
    found.push(...grants.filter((grant) => after === null || comesAfter(grant, after)).sort(byPlace));
    if (found.length >= limit) break;
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

/** Where reading stopped last, so that going on does not read everything again. */
interface Bookmark {
  readonly seq: number;
  readonly end: number;
}

function readEntries(
  path: string,
  { audit, tree }: TreeRecord,
  page: AuditPage,
  bookmarks: Map<Key, Bookmark>,
): AuditEntry[] {
  const found: AuditEntry[] = [];
  const known = bookmarks.get(tree);
  let at: Bookmark = known !== undefined && known.seq <= page.afterSeq ? known : { seq: 0, end: 0 };
  for (const { text, end } of AuditFile.lines(path, at.end, audit.bytes)) {
    at = { seq: at.seq + 1, end };
    if (at.seq <= page.afterSeq) continue;
    const entry = parseEntry(text);
    if (matches(entry, page)) found.push(entry);
    if (found.length === page.limit) break;
  }
  bookmarks.set(tree, at);
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

function readJson<T>(path: string): T | null {
  for (let tries = 1; ; tries += 1) {
    let text: string;
    try {
      text = readFileSync(path, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
      throw error;
    }
    try {
      return text.trim() === "" ? null : (JSON.parse(text) as T);
    } catch (cause) {
      if (tries >= TRIES)
        throw new HoldfastError("E_STORE_CORRUPT", `${path} is not readable`, { cause, details: { path } });
    }
  }
}

function readLine(path: string): readonly Ticket[] {
  return existsSync(path) ? parseLine(readFileSync(path, "utf8")) : [];
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
