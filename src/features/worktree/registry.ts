/**
 * Reads and writes the registry of worktrees: a file for each, outside every payload (the folder of which snapshots are
 * taken).
 */
import { randomUUID } from "node:crypto";
import { linkSync, lstatSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join, resolve, sep } from "node:path";
import { HoldfastError, invalidArgument, ioError } from "../../base/errors.js";
import { createSynced, removeFile, removeQuietly, syncFolder } from "../../files/durable-file.js";
import { underGuard } from "../../files/guard.js";
import { existingTextPath } from "../../files/real-path.js";
import { isThere } from "../../platform/look-up.js";
import { keptPath, type Layout, parseWorktreeName } from "./layout.js";
import { readSealedIfThere, sealText } from "./sealed-file.js";

export type WorktreeMode = "exclusive" | "shared";

export interface WorktreeRecord {
  readonly schema_version: number;
  readonly worktree_id: string;
  /** Relative to the workspace when it lies in it, so that both can be moved together. */
  readonly path: string;
  readonly mode: WorktreeMode;
  readonly created_at: string;
  /** The snapshot it was made from, or null. */
  readonly restored_from: string | null;
}

/** `E_NOT_FOUND`, `E_STORE_CORRUPT`. */
export function getWorktree(layout: Layout, name: string): WorktreeRecord {
  const record = readSealedIfThere<WorktreeRecord>(fileOf(layout, parseWorktreeName(name, "worktree")));
  // A folder that takes `Main` and `main` for one name has the file of the other worktree.
  // mutant: worktree-other-spelling: record?.worktree_id !== name → record === null
  if (record?.worktree_id !== name)
    throw new HoldfastError("E_NOT_FOUND", `there is no worktree ${name}`, {
      details: { worktree_id: name },
      next: ["holdfast worktree list", `holdfast worktree add ${name} --path DIR`],
    });
  return record;
}

export function listWorktrees(layout: Layout): WorktreeRecord[] {
  if (!isThere(layout.worktrees)) return [];
  const names = readdirSync(layout.worktrees)
    .filter((name) => name.endsWith(".json"))
    .sort();
  return names.map((name) => getWorktree(layout, name.slice(0, -".json".length)));
}

/** The folder of the payload. */
export function payloadOf(layout: Layout, { path }: WorktreeRecord): string {
  return resolve(layout.root, path);
}

export interface NewWorktree {
  readonly name: string;
  readonly path: string;
  readonly mode: WorktreeMode;
  readonly restoredFrom: string | null;
  readonly wallMs: number;
}

/**
 * Puts it on record, whole or not at all, after what `prepare` does; no other is added meanwhile. `E_INVALID_ARGUMENT` when
 * the name is taken or the folders of two would overlap: then nothing was prepared.
 */
export async function addWorktree(
  layout: Layout,
  added: NewWorktree,
  prepare: () => void = () => undefined,
): Promise<WorktreeRecord> {
  return underGuard(join(layout.base, "worktrees.guard"), () => {
    // mutant: tree-added-meanwhile: checkPayload(layout, resolve(layout.root, added.path), added.name); →
    checkPayload(layout, resolve(layout.root, added.path), added.name);
    prepare();
    return putOnRecord(layout, added);
  });
}

function putOnRecord(layout: Layout, { name, path, mode, restoredFrom, wallMs }: NewWorktree): WorktreeRecord {
  const record: WorktreeRecord = {
    schema_version: 1,
    worktree_id: parseWorktreeName(name),
    path: keptPath(layout, resolve(layout.root, path)),
    mode,
    created_at: new Date(wallMs).toISOString(),
    restored_from: restoredFrom,
  };
  createWhole(fileOf(layout, name), sealText(record), name);
  return record;
}

/** Forgets it. Payload and snapshots stay. */
export function dropWorktree(layout: Layout, name: string): void {
  removeFile(fileOf(layout, name));
  syncFolder(layout.worktrees);
}

/** The name of a new worktree must be free, its folder its own. */
export function checkPayload(layout: Layout, payload: string, name: string): void {
  parseWorktreeName(name);
  if (contains(layout.home, payload)) throw invalidArgument("path", `${payload} lies in ${layout.home}`);
  for (const other of listWorktrees(layout)) {
    // mutant: worktree-one-spelling: other.worktree_id.toLowerCase() === name.toLowerCase() → other.worktree_id === name
    if (other.worktree_id.toLowerCase() === name.toLowerCase()) throw taken(other.worktree_id);
    const place = payloadOf(layout, other);
    if (contains(place, payload) || contains(payload, place))
      throw invalidArgument("path", `${payload} and ${place} (worktree ${other.worktree_id}) lie in one another`);
  }
}

/** Makes the folder when it is not there. `E_INVALID_ARGUMENT` for a file, `E_IO`. */
export function ensurePayload(payload: string): string {
  try {
    if (lstatSync(payload, { throwIfNoEntry: false }) === undefined) mkdirSync(payload, { recursive: true });
    if (!statSync(payload).isDirectory()) throw invalidArgument("path", `${payload} is no folder`);
    return existingTextPath(payload);
  } catch (error) {
    throw ioError(error, "create", payload);
  }
}

function contains(outer: string, inner: string): boolean {
  return inner === outer || inner.startsWith(`${outer}${sep}`);
}

function fileOf(layout: Layout, name: string): string {
  return join(layout.worktrees, `${name}.json`);
}

function taken(name: string): HoldfastError {
  return invalidArgument(
    "name",
    `there is a worktree ${name} already`,
    "Choose another name, or `holdfast worktree list`.",
  );
}

/** Written privately, then linked: of two that add the same name one fails. */
function createWhole(path: string, text: string, name: string): void {
  const fresh = `${path}.${randomUUID()}.new`;
  try {
    createSynced(fresh, Buffer.from(text));
    linkSync(fresh, path);
    syncFolder(join(path, ".."));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") throw taken(name);
    throw ioError(error, "create", path);
  } finally {
    removeQuietly(fresh);
  }
}
