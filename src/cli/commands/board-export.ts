/** `holdfast board export`. */
import { readTheBoard } from "../board.js";
import type { Context, Outcome } from "../context.js";

export async function run(context: Context): Promise<Outcome> {
  const all = await readTheBoard(context).export();
  return { data: all, text: () => JSON.stringify(all, null, 2) };
}
