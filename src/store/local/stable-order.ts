/**
 * Sorts grants and tickets in one order, whatever ledger they come from, so that the same history gets the same
 * answers.
 */
import type { Neighbourhood } from "../../lock/decide.js";
import type { Grant } from "../../lock/grant.js";

/** Grants by key and token, covers before what nests in them. */
export function inOrder(near: Neighbourhood): Neighbourhood {
  if (near.grants.length < 2) return near;
  return { grants: [...near.grants].sort(byPlace), line: near.line, unreadable: near.unreadable };
}

function byPlace(a: Grant, b: Grant): number {
  if (a.resource !== b.resource) return a.resource < b.resource ? -1 : 1;
  const nesting = Number(a.cover !== null) - Number(b.cover !== null);
  return a.fencingToken - b.fencingToken || nesting || a.createdAt - b.createdAt || (a.lockId < b.lockId ? -1 : 1);
}
