/**
 * The grants on keys below a tree's own that are not kept in tree.json: one file for each key that has any. They are
 * written only under the tree's guard, and only after tree.json has their next content, so a file that a crash left
 * half-written is written again before it is read. Folders that have become empty are removed by the next step that
 * passes them under the guard.
 */
import { closeSync, readFileSync, rmdirSync, type Stats, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { ioError } from "../../../base/errors.js";
import { removeFile, replaceFile, syncFolder, writeFully } from "../../../files/durable-file.js";
import { ifThere } from "../../../files/if-there.js";
import type { Grant, UnreadableGrant } from "../../../lock/grant.js";
import { ancestorsOf, type Key } from "../../../lock/key.js";
import { makeFolder, openWithRights } from "../../../platform/folder-rights.js";
import { isNamed, isThere, lookUp, namesIn } from "../../../platform/look-up.js";
import { decodeGrant, type StoredGrant, unreadable } from "../../local/grant-codec.js";
import { nodeFile, nodeFolder } from "../layout.js";

/** What a node holds, as its file says. An empty list means no file. */
export interface NodeContent {
  readonly resource: Key;
  readonly grants: readonly StoredGrant[];
}

/** What a node is to hold, and whether that must survive a power cut, as a release of a detached grant must. */
export interface NodeChange extends NodeContent {
  readonly durable?: true;
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

/** `keyOf` says where one stands that cannot be understood, and `belongs` whether one that can is where it should be. */
export function decodeInto(
  found: Found,
  grants: readonly StoredGrant[],
  keyOf: (stored: StoredGrant) => Key,
  belongs: (grant: Grant) => boolean = () => true,
): void {
  for (const stored of grants) {
    try {
      const grant = decodeGrant(stored);
      if (!belongs(grant)) throw new Error(`${grant.resource} does not belong there`);
      found.grants.push(grant);
    } catch (error) {
      found.unreadable.push(unreadable(keyOf(stored), error));
      found.strange.push(stored);
    }
  }
}

export class NodeFiles {
  readonly #folder: string;
  readonly #tree: Key;
  /** What was read in this step. */
  readonly #read = new Map<string, Found>();

  constructor(folder: string, tree: Key) {
    this.#folder = folder;
    this.#tree = tree;
  }

  /** Between two steps others may have written. */
  forget(): void {
    if (this.#read.size > 0) this.#read.clear();
  }

  at(resource: Key): Found {
    return this.#readFile(nodeFile(this.#folder, resource), resource);
  }

  /** On the key, above it and below it, as far as it is not in tree.json. */
  around(key: Key, mayPrune: boolean): Found {
    const found = nothingFound();
    const [, ...above] = ancestorsOf(key);
    for (const node of above) merge(found, this.at(node));
    if (key.includes("/")) merge(found, this.at(key));
    this.#walk(nodeFolder(this.#folder, key), found, mayPrune);
    return found;
  }

  /**
   * How many grants there are below the tree's own key. Files that tore when the machine last went down, before
   * `bootedAt`, are removed: what outlives the machine is never written so that it can tear.
   */
  count(bootedAt: number): number {
    const found = nothingFound();
    const folder = nodeFolder(this.#folder, this.#tree);
    this.#removeTorn(folder, bootedAt);
    this.#walk(folder, found, false);
    return found.grants.length + found.unreadable.length;
  }

  #removeTorn(folder: string, bootedAt: number): void {
    for (const name of namesAt(folder)) {
      const path = join(folder, name);
      if (name.endsWith(".d")) this.#removeTorn(path, bootedAt);
      if (!name.endsWith(".json")) continue;
      if (!isTornNode(this.#readFile(path, null)) || statSync(path).mtimeMs >= bootedAt) continue;
      removeFile(path);
      this.#read.delete(path);
    }
  }

  /** Puts a node into its new state. Doing it again changes nothing. */
  write({ resource, grants, durable }: NodeChange): void {
    const path = nodeFile(this.#folder, resource);
    this.#read.delete(path);
    const mustLast = durable ?? grants.some((grant: StoredGrant | null) => grant?.store?.detached);
    try {
      if (grants.length === 0) removeFile(path);
      else this.#put(path, Buffer.from(`${JSON.stringify({ resource, grants })}\n`), mustLast);
      if (grants.length === 0 && mustLast) this.#syncRemoval(path);
    } catch (error) {
      throw ioError(error, "write", path);
    }
  }

  #syncRemoval(path: string): void {
    const folder = dirname(path);
    if (statSync(folder, { throwIfNoEntry: false }) !== undefined) syncFolder(folder);
  }

  #put(path: string, bytes: Buffer, durable: boolean): void {
    const folder = lookUp(dirname(path)) ?? madeFolder(dirname(path));
    if (durable) {
      replaceFile(path, bytes, true);
      return;
    }
    const fd = openWithRights(path, "w", folder);
    try {
      writeFully(fd, bytes, 0);
    } finally {
      closeSync(fd);
    }
  }

  #walk(folder: string, found: Found, mayPrune: boolean): void {
    for (const name of namesAt(folder)) {
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
    const found = this.#parseFile(path, resource);
    this.#read.set(path, found);
    return found;
  }

  #parseFile(path: string, resource: Key | null): Found {
    const found = nothingFound();
    const text = readText(path);
    if (text === null) return found;
    const key = resource ?? keyOf(path, this.#folder, this.#tree);
    try {
      const content = JSON.parse(text) as NodeContent;
      const isHere = this.#belongs(content, path, resource);
      if (!isHere && content.grants.length === 0) throw new Error("it is the record of another key");
      decodeInto(
        found,
        content.grants,
        () => key,
        (grant) => isHere && grant.resource === content.resource,
      );
    } catch (error) {
      found.unreadable.push(unreadable(key, error, `${path}: `));
    }
    return found;
  }

  /** Whether it is the content of the file at this path. What another file has in it says nothing about this key. */
  #belongs({ resource: found }: NodeContent, path: string, resource: Key | null): boolean {
    // mutant: node-of-another: return resource === null → if (path !== "") return true; return resource === null
    return resource === null ? typeof found === "string" && nodeFile(this.#folder, found) === path : found === resource;
  }
}

/** Nothing in it can be understood, or what cannot be was being written, and all of it was held by processes. */
function isTornNode({ grants, unreadable, strange }: Found): boolean {
  if (unreadable.length > strange.length) return true;
  const isTorn = strange.every((stored, at) => isTornGrant(stored, unreadable[at]));
  return strange.length > 0 && isTorn && !grants.some(({ detached }) => detached);
}

/** What makes no sense and was not to outlive the machine: after a power cut, parts of two versions that have met. */
export function isTornGrant(stored: StoredGrant | null, told: UnreadableGrant | undefined): boolean {
  return told?.isNewer === undefined && stored?.store?.detached === false;
}

export function merge(into: Found, from: Found): void {
  into.grants.push(...from.grants);
  into.unreadable.push(...from.unreadable);
  into.strange.push(...from.strange);
}

/** Null when there is no file. Most nodes have none, and to look first costs less than an exception. */
function readText(path: string): string | null {
  return isNamed(path) ? ifThere(path, (fd) => readFileSync(fd, "utf8")) : null;
}

/** Most nodes have no folder either. */
function namesAt(folder: string): string[] {
  return isThere(folder) ? namesIn(folder) : [];
}

function madeFolder(path: string): Stats {
  makeFolder(path);
  return statSync(path);
}

function removeFolderIfEmpty(path: string): void {
  try {
    rmdirSync(path);
  } catch {
    // It holds something.
  }
}

/** A name that does not tell its segment, since it was too long or is a stranger's, stands for the key above it. */
function keyOf(path: string, folder: string, tree: Key): Key {
  const names = path.slice(join(folder, "below").length + 1, -".json".length).split("/");
  const segments: string[] = [tree];
  for (const name of names) {
    const segment = segmentOf(name.replace(/\.d$/, ""));
    if (segment === null) break;
    segments.push(segment);
  }
  return segments.join("/") as Key;
}

function segmentOf(name: string): string | null {
  try {
    return name.includes("%~") ? null : decodeURIComponent(name);
  } catch {
    return null;
  }
}
