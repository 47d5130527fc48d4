/** `holdfast board import FILE`. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { ImportFormat } from "../../board/board.js";
import { ioError } from "../../support/errors.js";
import { openTheBoard } from "../board.js";
import type { Context, Outcome } from "../context.js";

export async function run(context: Context): Promise<Outcome> {
  const path = resolve(context.cwd, context.arg("FILE"));
  const format = (context.flags.text("format") ?? (path.endsWith(".jsonl") ? "beads" : "task-master")) as ImportFormat;
  const text = read(path);
  const { board } = await openTheBoard(context);
  const { issues, skipped } = await board.import(text, format);
  return {
    data: { issues, skipped },
    text: () => `imported ${issues.length} issues${skipped === 0 ? "" : `; ${skipped} were there already`}`,
  };
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw ioError(error, "read", path);
  }
}
