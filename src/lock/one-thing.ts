/**
 * One thing under several names: a request that holds a worktree and its files, a deliverable and its folder, or a publish
 * key and its target says in the metadata of its grants which of its keys name one thing (`one_thing`, a list of lists of
 * keys). When a grant of them is broken, recovered or stolen, the others end in the same step: store/operations/one-thing.ts
 * and its twin in SQL. They are known by these keys and by the lease token, which is that of one request; so the names that
 * a grant gives can end nothing but what its own holder has.
 */
import type { Grant, Metadata } from "./grant.js";
import type { Key } from "./key.js";

const FIELD = "one_thing";

/** The metadata of a request in which these keys name one thing. One key, or none, needs no mark. */
export function withNames(metadata: Metadata, names: readonly Key[]): Metadata {
  if (names.length < 2) return metadata;
  return { ...metadata, [FIELD]: [...groupsIn(metadata), names] };
}

/** The other keys of what this grant is one name of. */
export function otherNames({ resource, metadata }: Pick<Grant, "resource" | "metadata">): readonly Key[] {
  if (metadata[FIELD] === undefined) return NONE;
  const groups = groupsIn(metadata).filter((names) => names.includes(resource));
  return [...new Set(groups.flat())].filter((name) => name !== resource);
}

const NONE: readonly Key[] = [];

/** Metadata are the caller's: anything may stand there. */
function groupsIn(metadata: Metadata): readonly (readonly Key[])[] {
  const groups = metadata[FIELD];
  return Array.isArray(groups) ? groups.filter((group) => Array.isArray(group) && group.every(isKey)) : [];
}

function isKey(name: unknown): name is Key {
  return typeof name === "string";
}
