/**
 * The grants on keys below a tree's own: one file for each key that has any. Written only under the tree's guard, and only
 * after tree.json says what will be in them, so a file that a crash left half-written is written again before anybody
 * looks. Folders that have become empty are removed by whoever walks past them under the guard.
 */
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Grant, UnreadableGrant } from "../../lock/grant.js";
import { ancestorsOf, type Key } from "../../lock/key.js";
import { removeQuietly, replaceFile, syncFolder, writeFully } from "../../support/durable-file.js";
import { ioError } from "../../support/errors.js";
import { decodeGrant, type StoredGrant } from "../grant-codec.js";
import { nodeFile, nodeFolder } from "./layout.js";

/** What a node holds, as its file says. An empty list means no file. */
export interface NodeContent {
  readonly resource: Key;
  readonly grants: readonly StoredGrant[];
}

export interface Found {
  readonly grants: Grant[];
  readonly unreadable: UnreadableGrant[];
  /** Records that could not be understood, as they are: they are kept, whatever else changes at their node. */
  readonly strange: StoredGrant[];
}

export function nothingFound(): Found {
  return { grants: [], unreadable: [], strange: [] };
}

export function decodeInto(grants: readonly StoredGrant[], resource: Key, found: Found): void {
  for (const stored of grants) {
    try {
      found.grants.push(decodeGrant(stored));
    } catch (error) {
      found.unreadable.push({ resource, why: (error as Error).message });
      found.strange.push(stored);
    }
  }
}

export class NodeFiles {
  readonly #folder: string;
  /** What was read in this step. */
  readonly #read = new Map<string, Found>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Between two steps others may have written. */
  forget(): void {
    if (this.#read.size > 0) this.#read.clear();
  }

  at(resource: Key): Found {
    return this.#readFile(nodeFile(this.#folder, resource), resource);
  }

  /** On the key, above it (but for the tree's own key, which is in tree.json) and below it. */
  around(key: Key, found: Found, mayPrune: boolean): void {
    const [, ...above] = ancestorsOf(key);
    for (const node of above) merge(found, this.at(node));
    if (key.includes("/")) merge(found, this.at(key));
    this.#walk(nodeFolder(this.#folder, key), found, mayPrune);
  }

  count(tree: Key): number {
    const found = nothingFound();
    this.#walk(nodeFolder(this.#folder, tree), found, false);
    return found.grants.length + found.unreadable.length;
  }

  /** Puts a node into its new state. Doing it again changes nothing. */
  write({ resource, grants }: NodeContent, durable: boolean): void {
    const path = nodeFile(this.#folder, resource);
    this.#read.delete(path);
    const mustLast = durable || grants.some((grant) => grant.store?.detached);
    try {
      if (grants.length === 0) removeQuietly(path);
      else this.#put(path, Buffer.from(`${JSON.stringify({ resource, grants })}\n`), mustLast);
      if (grants.length === 0 && mustLast) syncFolder(dirname(path));
    } catch (error) {
      throw ioError(error, "write", path);
    }
  }

  #put(path: string, bytes: Buffer, durable: boolean): void {
    if (statSync(dirname(path), { throwIfNoEntry: false }) === undefined) mkdirSync(dirname(path), { recursive: true });
    if (durable) {
      replaceFile(path, bytes, true);
      return;
    }
    const fd = openSync(path, "w");
    try {
      writeFully(fd, bytes, 0);
    } finally {
      closeSync(fd);
    }
  }

  #walk(folder: string, found: Found, mayPrune: boolean): void {
    for (const name of namesIn(folder)) {
      const path = join(folder, name);
      if (name.endsWith(".json")) merge(found, this.#readFile(path, null));
      else if (name.endsWith(".d")) {
        this.#walk(path, found, mayPrune);
        if (mayPrune) removeFolderIfEmpty(path);
      }
    }
  }

  /** A file that cannot be read counts as a held node. Its key is the one asked for, or the one its place stands for. */
  #readFile(path: string, resource: Key | null): Found {
    const known = this.#read.get(path);
    if (known !== undefined) return known;
    const found = nothingFound();
    this.#read.set(path, found);
    if (statSync(path, { throwIfNoEntry: false }) === undefined) return found;
    try {
      const content = JSON.parse(readFileSync(path, "utf8")) as NodeContent;
      decodeInto(content.grants, content.resource, found);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT")
        found.unreadable.push({ resource: resource ?? keyOf(path), why: `${path}: ${(error as Error).message}` });
    }
    return found;
  }
}

function merge(into: Found, from: Found): void {
  into.grants.push(...from.grants);
  into.unreadable.push(...from.unreadable);
}

function namesIn(folder: string): string[] {
  if (statSync(folder, { throwIfNoEntry: false }) === undefined) return [];
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw ioError(error, "list", folder);
  }
}

function removeFolderIfEmpty(path: string): void {
  try {
    rmdirSync(path);
  } catch {
    // It holds something.
  }
}

function keyOf(path: string): Key {
  const at = path.lastIndexOf("/below/");
  const tree = path.slice(path.lastIndexOf("/", at - 1) + 1, at);
  const rest = path.slice(at + "/below/".length, -".json".length).split("/");
  const segments = [tree, ...rest.map((part) => part.replace(/\.d$/, ""))];
  return segments.map((segment) => decodeURIComponent(segment)).join("/") as Key;
}
