/**
 * The paths of a file store:
 *
 *   store.json, store.guard         schema and settings, and the lock to write them
 *   workspace.json                  the id of the first workspace that recorded the store
 *   floor.json, floor.guard         the floor under the fences of new trees, and the lock to raise it
 *   alive/<nonce>                   proofs of life
 *   ops/<id>.json                   a step over several trees has been decided (exists only while it is carried out)
 *   manifests/<target>/…            the publishes to that target, see manifest-files.ts
 *   locks/<tree>/guard              kernel-locked during every step on the tree; never deleted
 *   locks/<tree>/tree.json          fence, chain head, and the grants on the top-level key and some below
 *   locks/<tree>/fence.json         how far fence numbers are reserved, on the disk before they are used
 *   locks/<tree>/line.jsonl         the queue: a ticket for each waiter
 *   locks/<tree>/audit.jsonl        the audit chain
 *   locks/<tree>/publishing/<id>    a publish on a key of the tree is under way
 *   locks/<tree>/below/a.json       grants on <tree>/a that tree.json does not have
 *   locks/<tree>/below/a.d/b.json   grants on <tree>/a/b, the same
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { ioError } from "../../base/errors.js";
import type { Key } from "../../lock/key.js";
import { UNFINISHED } from "../../platform/folder-rights.js";
import { isAbsence } from "../../platform/look-up.js";
import { encodeSegment } from "./encoding.js";

export interface Layout {
  readonly root: string;
  readonly alive: string;
  readonly ops: string;
  readonly locks: string;
  readonly manifests: string;
}

export function layoutOf(root: string): Layout {
  return {
    root,
    alive: join(root, "alive"),
    ops: join(root, "ops"),
    locks: join(root, "locks"),
    manifests: join(root, "manifests"),
  };
}

export function treeFolder({ locks }: Layout, tree: Key): string {
  return join(locks, encodeSegment(tree));
}

/** Of all trees that there are. A plain file among them is none of ours: file managers leave some. */
export function treeFolders({ locks }: Layout): string[] {
  try {
    const entries = readdirSync(locks, { withFileTypes: true });
    return entries
      .filter((entry) => !entry.isFile() && !entry.name.endsWith(UNFINISHED))
      .map((entry) => join(locks, entry.name));
  } catch (error) {
    if (isAbsence(error)) return [];
    throw ioError(error, "list", locks);
  }
}

/** The file with the grants on a key below a tree's own. */
export function nodeFile(folder: string, key: Key): string {
  return `${nodePath(folder, key)}.json`;
}

/** The folder with the keys right below a key. */
export function nodeFolder(folder: string, key: Key): string {
  return key.includes("/") ? `${nodePath(folder, key)}.d` : join(folder, "below");
}

function nodePath(folder: string, key: Key): string {
  const segments = key.split("/").slice(1).map(encodeSegment);
  const last = segments.pop() ?? "";
  return join(folder, "below", ...segments.map((segment) => `${segment}.d`), last);
}
