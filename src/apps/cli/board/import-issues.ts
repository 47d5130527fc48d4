/** Imports the issues of a file into the board. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { ioError } from "../../../base/errors.js";
import type { ImportFormat } from "../../../features/board/board.js";
import { isExport } from "../../../features/board/import/exported-board.js";
import type { ContextWith, Outcome } from "../command.js";
import { openTheBoard } from "./board.js";

export async function importIssues(
  context: ContextWith<{ readonly format: ImportFormat | undefined }, { readonly FILE: string }>,
): Promise<Outcome> {
  const path = resolve(context.cwd, context.args.FILE);
  const text = read(path);
  const format = context.flags.format ?? formatOf(path, text);
  const { board } = await openTheBoard(context);
  const { issues, skipped } = await board.import(text, format);
  return {
    data: { issues, skipped },
    text: () => `imported ${issues.length} issues${skipped === 0 ? "" : `; ${skipped} were there already`}`,
  };
}

function formatOf(path: string, text: string): ImportFormat {
  if (path.endsWith(".jsonl")) return "beads";
  return isExport(text) ? "holdfast" : "task-master";
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw ioError(error, "read", path);
  }
}
