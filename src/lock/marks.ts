/** Compares the marks of two holds: finds every node at which both leave a mark, and whether these marks conflict. */

import type { Want } from "./grant.js";
import { isWithin, type Key } from "./key.js";
import { ancestorMark, compatible, type Mark, ownMark } from "./mode.js";

/** The mark a hold leaves at a node that is its key or an ancestor of it. */
export function markAt(hold: Want, node: Key): Mark {
  return hold.resource === node ? ownMark(hold) : ancestorMark(hold);
}

/**
 * The node at which two holds conflict, or null. When one key is the other or lies above it, the deepest node they share
 * is the upper key; above that both leave only intents, which always get along. Keys on different branches share nothing
 * but intents. So keys that conflict are of one tree, and meet at its guard.
 */
export function conflictNode(one: Want, other: Want): Key | null {
  const node = isWithin(one.resource, other.resource)
    ? other.resource
    : isWithin(other.resource, one.resource)
      ? one.resource
      : null;
  if (node === null) return null;
  return compatible(markAt(one, node), markAt(other, node)) ? null : node;
}
