/**
 * The only global order of nodes, in which a holder may wait for more: levels first (`project` before `map` before
 * `sketch`), other kinds after them by depth, then by the bytes of the key.
 */
import { depthOf, type Key, kindOf } from "./key.js";

export const DEFAULT_LEVELS: readonly string[] = ["project", "map", "sketch"];

export type NodeOrder = (a: Key, b: Key) => number;

export function createNodeOrder(levels: readonly string[]): NodeOrder {
  const rank = (node: Key): number => {
    const level = levels.indexOf(kindOf(node));
    return level >= 0 ? level : levels.length + depthOf(node);
  };
  return (a, b) => rank(a) - rank(b) || (a < b ? -1 : a > b ? 1 : 0);
}
