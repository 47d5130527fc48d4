/**
 * The state of a tree that a connection keeps while it works on the tree, and between two steps when no other
 * connection has written.
 */
import { type AuditDraft, type ChainHead, EMPTY_CHAIN } from "../../../lock/audit.js";
import type { Grant } from "../../../lock/grant.js";
import { type Key, treeOf } from "../../../lock/key.js";

/** Beyond this many, remembering grants costs more than it saves. */
const MAX_GRANTS = 32;

export interface Tree {
  readonly name: Key;
  /** 0 for a tree that has no row yet. */
  id: number;
  /** The last fencing token given out, the last that may be before more are reserved, and the boot this holds for. */
  fence: number;
  reserved: number;
  boot: number;
  held: number;
  waiting: number;
  lastTicket: number;
  /** Pending manifests. */
  publishing: number;
  head: ChainHead;
  /** The newest entries: the number of the first, the size of all, and those of this step, still to be written. */
  tailSeq: number;
  tailBytes: number;
  added: string;
  /** Those of this step replace what the row has: that has moved away. */
  isTailNew: boolean;
  /** The last entry, when this connection wrote it. */
  lastEntry: AuditDraft | null;
  /** All grants in the tree, or null when they are not known. */
  grants: Map<string, Grant> | null;
  isChanged: boolean;
}

export function newTree(name: Key): Tree {
  return {
    name,
    id: 0,
    fence: 0,
    reserved: 0,
    boot: 0,
    held: 0,
    waiting: 0,
    lastTicket: 0,
    publishing: 0,
    head: EMPTY_CHAIN,
    tailSeq: 0,
    tailBytes: 0,
    added: "",
    isTailNew: false,
    lastEntry: null,
    grants: new Map(),
    isChanged: false,
  };
}

export function noteAdded(tree: Tree, grant: Grant): void {
  tree.held += 1;
  if (tree.held > MAX_GRANTS) tree.grants = null;
  tree.grants?.set(grant.lockId, grant);
}

/** One that was read from its row: where it is the only one, all are known. */
export function noteFound(tree: Tree, grant: Grant): void {
  if (tree.held === 1 && treeOf(grant.resource) === tree.name) tree.grants = new Map([[grant.lockId, grant]]);
}

export function noteDropped(tree: Tree, grant: Grant): void {
  tree.held -= 1;
  if (tree.held === 0) tree.grants = new Map();
  else tree.grants?.delete(grant.lockId);
}
