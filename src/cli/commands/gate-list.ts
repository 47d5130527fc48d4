/** `holdfast gate list`. */
import { readTheBoard } from "../board.js";
import type { Context, Outcome } from "../context.js";
import { gateTable } from "../issue-text.js";

export async function run(context: Context): Promise<Outcome> {
  const gates = await readTheBoard(context).gates();
  return {
    data: { gates, next: null },
    text: (screen) => gateTable(gates, screen),
    notes: gates.length === 0 ? ["no gates"] : [],
  };
}
