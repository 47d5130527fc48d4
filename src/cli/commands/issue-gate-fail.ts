/** `holdfast issue gate fail ID GATE`. */
import { changing, openTheBoard } from "../board.js";
import type { Context, Outcome } from "../context.js";
import { issueOutcome } from "../issue-text.js";

export async function run(context: Context): Promise<Outcome> {
  const opened = await openTheBoard(context);
  const gate = context.arg("GATE");
  const note = context.flags.text("note");
  const issue = await changing(context, opened, (id, options) =>
    opened.board.failGate(id, gate, { ...options, ...(note === undefined ? {} : { note }) }),
  );
  return issueOutcome(`gate ${gate} failed on`, issue);
}
