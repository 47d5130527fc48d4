/**
 * Imports issues from other tools. All of a file is imported as one change, or nothing is. Issues that were imported
 * before are recognized by `context.source` and `context.source_id` and stay as they are, so the same file can be
 * imported again.
 */
import { invalidArgument, isHoldfastError } from "../../../base/errors.js";
import { given } from "../../../base/given.js";
import type { BoardStore } from "../board-store.js";
import { type Draft, makeAll } from "../create.js";
import { checkFields, type Issue, oneOf } from "../issue.js";
import { draftsOfBeads } from "./beads.js";
import { importBoard } from "./exported-board.js";
import { draftsOfTaskMaster } from "./task-master.js";

const IMPORT_FORMATS = ["task-master", "beads", "holdfast"] as const;
export type ImportFormat = (typeof IMPORT_FORMATS)[number];

/** A draft that names where it came from. */
export interface SourcedDraft extends Draft {
  readonly key: string;
}

export interface Imported {
  readonly issues: readonly Issue[];
  /** How many were there already. */
  readonly skipped: number;
}

export async function importIssues(board: BoardStore, text: string, format: ImportFormat): Promise<Imported> {
  oneOf(format, "format", IMPORT_FORMATS);
  if (format === "holdfast") return importBoard(board, text);
  const drafts = format === "beads" ? draftsOfBeads(text) : draftsOfTaskMaster(text);
  checkDrafts(drafts);
  return board.step(async (commit) => {
    const known = await knownSources(board, format);
    const fresh = drafts.filter(({ key }) => !known.has(key));
    const renamed = rename(fresh, known);
    const issues = await commit(
      async (write) => write(),
      (tx) => (renamed.length === 0 ? [] : makeAll(board, tx, renamed)),
    );
    return { issues, skipped: drafts.length - fresh.length };
  });
}

/** `E_INVALID_ARGUMENT` naming the one that cannot come in, by its name in the file. */
function checkDrafts(drafts: readonly SourcedDraft[]): void {
  const keys = new Set<string>();
  for (const { key, fields } of drafts) {
    if (keys.has(key)) throw invalidArgument("file", `${key} is there twice`);
    keys.add(key);
    try {
      checkFields({ ...fields, dependencies: [] });
    } catch (error) {
      throw isHoldfastError(error) ? invalidArgument("file", `${key}: ${error.message}`) : error;
    }
  }
}

/** Names of the file must not be taken for ids of the board. A dependency that is in neither is noted, not made up. */
function rename(drafts: readonly SourcedDraft[], known: ReadonlyMap<string, string>): Draft[] {
  const keys = new Set(drafts.map(({ key }) => key));
  return drafts.map(({ key, fields }) => {
    const names = fields.dependencies ?? [];
    const dependencies = names.flatMap((name) => known.get(name) ?? (keys.has(name) ? [`file:${name}`] : []));
    const missing = names.filter((name) => !known.has(name) && !keys.has(name));
    const context = missing.length === 0 ? fields.context : { ...fields.context, missing_dependencies: missing };
    return { key: `file:${key}`, fields: { ...fields, dependencies, ...given({ context }) } };
  });
}

/** Issues that came from this tool, by their name there. */
async function knownSources(board: BoardStore, format: ImportFormat): Promise<Map<string, string>> {
  const known = new Map<string, string>();
  for (const document of await board.documents.list("issues")) {
    const issue = await board.read(document.slice("issues/".length));
    if (issue?.context.source === format) known.set(String(issue.context.source_id), issue.id);
  }
  return known;
}
