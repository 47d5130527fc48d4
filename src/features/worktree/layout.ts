/**
 * The paths of the files of worktrees, all below `<workspace>/.holdfast/snapshots/` and never in a payload:
 *
 *   format.json                 the version of these formats
 *   worktrees/NAME.json         a worktree: where its payload is, its mode
 *   heads/NAME.json             which snapshot it stands on
 *   caches/NAME                 what its files looked like when they were last read
 *   taken/ID/                   a snapshot: descriptor.json, manifest, skipped, packs, large objects, .READY
 *   staging/ID/                 one in the making: the same files, and intent.json
 *   restores/NAME/              an in-place restore under way: journal.json, steps, progress
 *   restores/NAME.mark          kernel-locked by the process that restores NAME in place, or settles it
 *   restores/NAME.revert        which snapshot a revert under way goes back to
 *   restores/new-ID.json        a restore to a new folder under way
 *   use, turnstile              kernel locks: of processes that read and write objects here, and of gc
 *   worktrees.guard             a kernel lock: of the process that adds a worktree
 */
import { randomUUID } from "node:crypto";
import { renameSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { HoldfastError, invalidArgument, ioError } from "../../base/errors.js";
import { HOME } from "../../base/home-folder.js";
import { createSynced, syncFolder } from "../../files/durable-file.js";
import { WORKTREE } from "../../lock/reserved-kinds.js";
import { makeFolder } from "../../platform/folder-rights.js";
import { isThere } from "../../platform/look-up.js";
import { readSealed, sealText } from "./sealed-file.js";

const SCHEMA_VERSION = 1;

export interface Layout {
  /** The workspace. */
  readonly root: string;
  /** `<root>/.holdfast`, which is never part of a payload. */
  readonly home: string;
  readonly base: string;
  readonly worktrees: string;
  readonly heads: string;
  readonly caches: string;
  readonly taken: string;
  readonly staging: string;
  readonly restores: string;
  readonly use: string;
  readonly turnstile: string;
}

/** Names the places; makes nothing. */
export function layoutOf(root: string): Layout {
  const home = join(root, HOME);
  const base = join(home, "snapshots");
  const at = (name: string): string => join(base, name);
  return {
    root,
    home,
    base,
    worktrees: at("worktrees"),
    heads: at("heads"),
    caches: at("caches"),
    taken: at("taken"),
    staging: at("staging"),
    restores: at("restores"),
    use: at("use"),
    turnstile: at("turnstile"),
  };
}

/** How a path is kept: relative when it lies in the workspace, so that a copy of that does not reach into the original. */
export function keptPath({ root }: Layout, path: string): string {
  const inside = relative(root, path);
  if (inside === "") return ".";
  // mutant: two-dots: inside.split(sep)[0] === ".." → inside.split(sep)[0]?.startsWith("..")
  return inside.split(sep)[0] === ".." ? path : inside; // A name may begin with two dots.
}

/** Makes the folders once. `E_FORMAT_UNSUPPORTED` when a newer version made them. */
export function prepareLayout(layout: Layout): void {
  const format = join(layout.base, "format.json");
  try {
    if (isThere(format)) {
      const { schema_version: version } = readSealed<{ schema_version: number }>(format);
      if (version > SCHEMA_VERSION)
        throw new HoldfastError(
          "E_FORMAT_UNSUPPORTED",
          `${format} is of version ${version}, and this is ${SCHEMA_VERSION}`,
        );
      return;
    }
    for (const folder of ["worktrees", "heads", "caches", "taken", "staging", "restores"] as const)
      makeFolder(layout[folder]);
    // mutant: tree-format-torn: const fresh = `$ → const fresh = format || `$
    const fresh = `${format}.${randomUUID()}.new`;
    createSynced(fresh, Buffer.from(sealText({ schema_version: SCHEMA_VERSION })));
    renameSync(fresh, format); // Whole or not at all; two that come first write the same bytes.
    syncFolder(layout.base);
    syncFolder(layout.home);
  } catch (error) {
    throw ioError(error, "prepare", layout.base);
  }
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
/** What stands in `restores/` beside the folder of a worktree ends so. */
const OF_ANOTHER = /\.(mark|revert|json)$/;

/** A name is a file's name and a part of a key at once. `E_INVALID_ARGUMENT`. */
export function parseWorktreeName(name: unknown, field = "name"): string {
  if (typeof name !== "string" || !NAME.test(name))
    throw invalidArgument(
      field,
      `${JSON.stringify(name)} is no name: letters, digits, . _ - (at most 64, no dot first)`,
    );
  // mutant: tree-name-of-another: if (OF_ANOTHER.test(name)) → if (OF_ANOTHER.test(name) && false)
  if (OF_ANOTHER.test(name))
    throw invalidArgument(field, `${JSON.stringify(name)} ends in .mark, .revert or .json, as files beside it do`);
  return name;
}

export function worktreeKey(name: string): string {
  return WORKTREE + name;
}

/** What is locked until a restore in place is settled. */
export function restoreKey(name: string): string {
  return `${worktreeKey(name)}/restore`;
}
