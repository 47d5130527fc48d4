/**
 * Adds to a request the keys of the files that its keys stand for: a write lock on `worktree:NAME` also holds the payload
 * of that worktree, where it lies in the workspace. Both are one request, so they are granted, renewed and ended together.
 */
import { join, resolve } from "node:path";
import { HoldfastError } from "../../base/errors.js";
import { HOME } from "../../base/home-folder.js";
import { textIfThere } from "../../files/if-there.js";
import type { Metadata, Want } from "../../lock/grant.js";
import { isWithin, type Key } from "../../lock/key.js";
import { withNames } from "../../lock/one-thing.js";
import { WORKTREE } from "../../lock/reserved-kinds.js";
import { pathKeyInside } from "../path-key.js";
import type { Files } from "./open-store.js";

/** The file of a worktree in the registry, below the folder `.holdfast/`. */
const REGISTRY = join("snapshots", "worktrees");

export function withPayloads(files: Files, wants: readonly Want[]): readonly Want[] {
  // mutant: worktree-payload: if (!wants.some(({ resource }) => resource.startsWith(WORKTREE))) return → if (wants.length > 0) return
  if (!wants.some(({ resource }) => resource.startsWith(WORKTREE))) return wants;
  const added: Want[] = [];
  for (const want of wants) {
    const key = want.mode === "write" ? payloadKeyOf(files, want.resource) : null;
    const isThere = key === null || [...wants, ...added].some(({ resource }) => isWithin(key, resource));
    if (!isThere) added.push({ resource: key, mode: "write", permits: null });
  }
  return [...wants, ...added];
}

/** The same for a request, whose grants say that a worktree and its payload are one thing: they end together. */
export function requestWithPayloads<Request extends Requested>(files: Files, request: Request): Request {
  const wants = withPayloads(files, request.wants);
  if (wants === request.wants) return request;
  let { metadata } = request;
  for (const { resource, mode } of wants) {
    const key = mode === "write" ? payloadKeyOf(files, resource) : null;
    // mutant: one-thing-worktree: wants.some((want) => want.resource === key)) → wants.length === 0)
    if (key !== null && wants.some((want) => want.resource === key)) metadata = withNames(metadata, [resource, key]);
  }
  return { ...request, wants, metadata };
}

interface Requested {
  readonly wants: readonly Want[];
  readonly metadata: Metadata;
}

/** Returns the key of the payload of `worktree:NAME`; null for another key, and for a payload outside the workspace. */
export function payloadKeyOf(files: Files, key: Key): Key | null {
  if (files.kind !== "workspace" || !key.startsWith(WORKTREE) || key.includes("/")) return null;
  const path = payloadOf(files.root, key.slice(WORKTREE.length));
  return path === null ? null : pathKeyInside(files.root, path);
}

function payloadOf(root: string, name: string): string | null {
  const file = join(root, HOME, REGISTRY, `${name}.json`);
  const text = textIfThere(file);
  if (text === null) return null;
  const path = pathIn(text);
  if (path === null)
    throw new HoldfastError("E_STORE_CORRUPT", `${file} does not say where the worktree lies`, {
      details: { path: file },
    });
  return resolve(root, path);
}

function pathIn(text: string): string | null {
  try {
    const { path } = JSON.parse(text) as { readonly path?: unknown };
    return typeof path === "string" ? path : null;
  } catch {
    return null;
  }
}
