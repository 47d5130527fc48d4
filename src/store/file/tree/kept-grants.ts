/**
 * The grants that tree.json has itself: those on the tree's own key, and a few on keys below it. Most locks below are
 * held for a moment, by one or two holders at a time, and then a step is one write of one page, as on the tree's own
 * key. All grants of a node are in one place. Into a file of its own goes a node
 *   - that has one already, until nothing is held there any more;
 *   - that outlives the machine, for tree.json would have to be synced in every step;
 *   - that needs more room than there is. Where all together do, those that were here before leave, and what comes stays:
 *     the youngest is mostly the first to be released.
 * After a power cut a node can be in both places, since one of them may be older than the other: its next change ends that.
 */
import type { Grant } from "../../../lock/grant.js";
import { isKey, isWithin, type Key } from "../../../lock/key.js";
import type { StoredGrant } from "../../local/grant-codec.js";
import { decodeInto, type Found, isTornGrant, type NodeContent, nothingFound } from "./node-files.js";
import type { TreeRecord } from "./tree-record.js";

/** Bytes of grants that fit into a page, beside everything else in tree.json. */
const ROOM = 3_500;
/** Bytes of a stored grant without what its caller chose. */
const FRAME = 760;

const NOTHING: readonly NodeContent[] = [];

/** A node's new content, and what it says if all of it could be understood. */
export interface NodeImage extends NodeContent {
  readonly decoded: readonly Grant[] | null;
}

/** What a tree has in its record, decoded, and in the files of its nodes. */
export interface Places {
  readonly record: TreeRecord;
  readonly kept: Found;
  /** What the file of a node holds, or null where there can be none. */
  filed(resource: Key): Found | null;
}

export interface Placed {
  /** For tree.json, and what that says if all of it could be understood. */
  readonly kept: readonly StoredGrant[];
  readonly decoded: readonly Grant[] | null;
  /** For files of their own. */
  readonly filed: readonly NodeContent[];
  /** How many grants there are in such files then. */
  readonly below: number;
}

/** What a record says is held, on whatever key of its tree. */
export function keptIn({ grants, tree }: Pick<TreeRecord, "grants" | "tree">): Found {
  const found = nothingFound();
  decodeInto(
    found,
    grants,
    (stored) => keyOf(stored, tree),
    ({ resource }) => isKeyWithin(resource, tree),
  );
  return found;
}

/**
 * What is left of a record after a power cut while it was written: parts of two versions may have met, and be JSON. What
 * makes no sense then was no grant that outlives the machine.
 */
export function withoutTorn(record: TreeRecord): TreeRecord {
  const { tree, grants, pending, op } = record;
  const whole = wholeOnes(grants, tree);
  const nodes = pending?.map((node) => ({ ...node, grants: wholeOnes(node.grants, tree) }));
  const next = op && withoutTorn(op.next);
  const isSame =
    whole === grants && next === op?.next && (nodes ?? []).every((node, at) => node.grants === pending?.[at]?.grants);
  if (isSame) return record;
  return {
    ...record,
    grants: whole,
    ...(nodes === undefined ? {} : { pending: nodes }),
    ...(op === undefined || next === undefined ? {} : { op: { ...op, next } }),
  };
}

/** The same list, if all are whole. */
function wholeOnes(grants: readonly StoredGrant[], tree: Key): readonly StoredGrant[] {
  const { strange, unreadable: torn } = keptIn({ grants, tree });
  const gone = strange.filter((stored, at) => isTornGrant(stored, torn[at]));
  return gone.length === 0 ? grants : grants.filter((stored) => !gone.includes(stored));
}

/** Those on the key, above it or below it. */
export function keptNear(kept: Found, tree: Key, key: Key): Found {
  if (key === tree) return kept;
  return keptWhere(kept, tree, (resource) => isWithin(resource, key) || isWithin(key, resource));
}

/** What a node holds, in both places. */
export function atNode({ record: { tree }, kept, filed }: Places, resource: Key): Found {
  const isAll = resource === tree && isOwnAlone(kept, tree);
  const here = isAll ? kept : keptWhere(kept, tree, (other) => other === resource);
  return joined(here, filed(resource));
}

/**
 * Whether a node is in both places with different grants: to one who reads without the guard that is a node that was given
 * up and taken again between two looks.
 */
export function isTwofold(kept: Found, filed: Found): boolean {
  return kept.grants.some(({ resource, lockId }) =>
    filed.grants.some((grant) => grant.resource === resource && grant.lockId !== lockId),
  );
}

/** One that is in both places is one. */
export function joined(kept: Found, filed: Found | null): Found {
  if (filed === null) return kept;
  const isKept = ({ lockId }: Grant): boolean => kept.grants.some((grant) => grant.lockId === lockId);
  return {
    // mutant: kept-in-both: ...filed.grants.filter((grant) => !isKept(grant)) → ...filed.grants
    grants: [...kept.grants, ...filed.grants.filter((grant) => !isKept(grant))],
    unreadable: [...kept.unreadable, ...filed.unreadable],
    strange: [...kept.strange, ...filed.strange],
  };
}

function keptWhere({ grants, unreadable: torn, strange }: Found, tree: Key, isIn: (resource: Key) => boolean): Found {
  return {
    grants: grants.filter(({ resource }) => isIn(resource)),
    unreadable: torn.filter(({ resource }) => isIn(resource)),
    strange: strange.filter((stored) => isIn(keyOf(stored, tree))),
  };
}

/** Where the nodes that a step changes go, and who makes room for them. */
export function place({ record, kept, filed }: Places, images: readonly NodeImage[]): Placed {
  const { tree } = record;
  const [own] = images;
  if (own !== undefined && own.resource === tree && images.length === 1 && isOwnAlone(kept, tree))
    return { kept: own.grants, decoded: own.decoded, filed: NOTHING, below: record.below };

  const unchanged = nodesIn(record).filter(({ resource }) => !images.some((image) => image.resource === resource));
  const others = unchanged.filter(({ resource }) => resource !== tree);
  const forOthers = ROOM - weightOf([...unchanged, ...images].filter(({ resource }) => resource === tree));
  const hasNoFile = ({ resource }: NodeContent): boolean => isEmpty(filed(resource));
  const light = images.filter((image) => image.resource !== tree && isLight(image, forOthers) && hasNoFile(image));
  const isFull = weightOf(others) + weightOf(light) > forOthers;
  // One that is in both places would write over what its file has.
  const leaving = isFull ? others.filter(hasNoFile) : NOTHING;
  const staying = unchanged.filter((node) => !leaving.includes(node));

  let room = forOthers - weightOf(others) + weightOf(leaving);
  const inside = images.filter((image) => {
    if (image.resource === tree) return true;
    if (!light.includes(image) || weightOf([image]) > room) return false;
    room -= weightOf([image]);
    return true;
  });
  const outside = images.filter((image) => !inside.includes(image));
  const had = outside.reduce((count, { resource }) => count + heldIn(filed(resource)), 0);
  const moved = [...leaving, ...outside.map(({ resource, grants }) => ({ resource, grants }))];
  return {
    kept: [...staying, ...inside].flatMap(({ grants }) => grants),
    decoded: decodedOf(kept, staying, inside),
    filed: moved,
    // mutant: kept-moved: .max(0, record.below - had) + grantsIn(moved), → .max(0, record.below - had),
    below: Math.max(0, record.below - had) + grantsIn(moved),
  };
}

function nodesIn({ grants, tree }: TreeRecord): NodeContent[] {
  const nodes = new Map<Key, StoredGrant[]>();
  for (const stored of grants) {
    const resource = keyOf(stored, tree);
    const node = nodes.get(resource);
    if (node === undefined) nodes.set(resource, [stored]);
    else node.push(stored);
  }
  return [...nodes].map(([resource, of]) => ({ resource, grants: of }));
}

function decodedOf(kept: Found, staying: readonly NodeContent[], inside: readonly NodeImage[]): Grant[] | null {
  if (kept.strange.length > 0) return null;
  const decoded = kept.grants.filter((grant) => staying.some(({ resource }) => resource === grant.resource));
  for (const image of inside) {
    if (image.decoded === null) return null;
    decoded.push(...image.decoded);
  }
  return decoded;
}

/** A record that makes no sense may not even say where it belongs. */
function keyOf(stored: StoredGrant | null, tree: Key): Key {
  const resource: unknown = stored?.resource;
  return typeof resource === "string" && isKeyWithin(resource, tree) ? (resource as Key) : tree;
}

/** What is kept under another name would be looked for where nobody finds it. */
function isKeyWithin(resource: string, tree: Key): boolean {
  return resource === tree || (isWithin(resource, tree) && isKey(resource));
}

function isLight(image: NodeImage, room: number): boolean {
  // mutant: kept-detached: !== null && !image.decoded.some(({ detached }) => detached) && → !== null &&
  return image.decoded !== null && !image.decoded.some(({ detached }) => detached) && weightOf([image]) <= room;
}

/** About as many bytes as they take, and not fewer. */
function weightOf(nodes: readonly NodeContent[]): number {
  let bytes = 0;
  for (const { grants } of nodes)
    for (const stored of grants) {
      const { resource, owner, holder_id, metadata } = (stored ?? {}) as Partial<StoredGrant>;
      bytes += FRAME + Buffer.byteLength(`${resource}${owner}${holder_id}${JSON.stringify(metadata)}`);
    }
  return bytes;
}

function isEmpty(filed: Found | null): boolean {
  return filed === null || (filed.grants.length === 0 && filed.unreadable.length === 0);
}

function heldIn(filed: Found | null): number {
  return filed === null ? 0 : new Set(filed.grants.map(({ lockId }) => lockId)).size + filed.strange.length;
}

/** Nothing is kept for keys below, as in most trees. */
function isOwnAlone({ grants, strange }: Found, tree: Key): boolean {
  return strange.length === 0 && grants.every(({ resource }) => resource === tree);
}

function grantsIn(nodes: readonly NodeContent[]): number {
  return nodes.reduce((count, { grants }) => count + grants.length, 0);
}
