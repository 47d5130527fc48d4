/** `holdfast issue show ID`. */
import { readTheBoard } from "../board.js";
import type { Context, Outcome } from "../context.js";
import { issueText } from "../issue-text.js";

export async function run(context: Context): Promise<Outcome> {
  const issue = await readTheBoard(context).get(context.arg("ID"));
  return { data: { issue }, text: (screen) => issueText(issue, screen) };
}
