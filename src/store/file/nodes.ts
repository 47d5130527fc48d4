/** The grants on keys below a tree's own, one file for each key that has any. Written only under the tree's guard. */
import { mkdirSync, readdirSync, readFileSync, rmdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Grant, UnreadableGrant } from "../../lock/grant.js";
import { ancestorsOf, type Key } from "../../lock/key.js";
import { ioError } from "../../support/errors.js";
import { decodeGrant, type StoredGrant } from "../grant-codec.js";
import { BlockFile } from "./block-file.js";
import { nodeFile, nodeFolder } from "./layout.js";

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

/** What a node will hold. An empty list removes its file. */
export interface NodeImage {
  readonly resource: Key;
  readonly grants: readonly StoredGrant[];
}

/** Grants on the key, above it (without the tree's own key, which is in tree.json) and below it. */
export function readAround(folder: string, key: Key, found: Found): void {
  const [, ...above] = ancestorsOf(key);
  for (const node of above) readNode(nodeFile(folder, node), node, found);
  if (key.includes("/")) readNode(nodeFile(folder, key), key, found);
  readBelow(nodeFolder(folder, key), found);
}

/** How many grants there are below a tree's own key. */
export function countBelow(folder: string, tree: Key): number {
  const found = nothingFound();
  readBelow(nodeFolder(folder, tree), found);
  return found.grants.length + found.unreadable.length;
}

function readBelow(folder: string, found: Found): void {
  for (const entry of namesIn(folder)) {
    const path = join(folder, entry);
    if (entry.endsWith(".json")) readNode(path, null, found);
    else if (entry.endsWith(".d")) readBelow(path, found);
  }
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

/** A file that cannot be read counts as a held node. Its key is the one asked for, or what the file itself says. */
function readNode(path: string, resource: Key | null, found: Found): void {
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return;
  let content: NodeContent;
  try {
    content = JSON.parse(readFileSync(path, "utf8")) as NodeContent;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    found.unreadable.push({ resource: resource ?? keyFromPath(path), why: `${path}: ${(error as Error).message}` });
    return;
  }
  decodeInto(content.grants, content.resource, found);
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

/** Only for a file found by listing that says nothing about itself: the nearest key its place can stand for. */
function keyFromPath(path: string): Key {
  const [folder = "", below = ""] = path.split(`${join("/", "below", "/")}`);
  const tree = decodeURIComponent(folder.slice(folder.lastIndexOf("/") + 1));
  const rest = below
    .replace(/\.json$/, "")
    .split("/")
    .map((part) => decodeURIComponent(part.replace(/\.d$/, "")));
  return [tree, ...rest].join("/") as Key;
}

/** What exactly this node holds. */
export function readExactly(folder: string, resource: Key): Found {
  const found = nothingFound();
  readNode(nodeFile(folder, resource), resource, found);
  return found;
}

/** Puts a node into its new state. Doing it again changes nothing. */
export function writeImage(folder: string, { resource, grants }: NodeImage, durable: boolean): void {
  const path = nodeFile(folder, resource);
  const file = new BlockFile<NodeContent>(path);
  try {
    if (grants.length === 0) {
      file.remove(durable);
      pruneEmpty(dirname(path), folder);
      return;
    }
    mkdirSync(dirname(path), { recursive: true });
    file.read();
    file.write({ resource, grants }, durable || grants.some((grant) => grant.store?.detached));
  } finally {
    file.close();
  }
}

/** Removes folders that hold nothing any more, up to the tree's `below`, so that a tree costs what it holds. */
function pruneEmpty(from: string, folder: string): void {
  const top = join(folder, "below");
  for (let at = from; at.length > top.length; at = dirname(at)) {
    try {
      rmdirSync(at);
    } catch {
      return;
    }
  }
}
