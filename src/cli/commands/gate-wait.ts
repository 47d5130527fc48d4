/** `holdfast gate wait ID GATE`. The exit code is the verdict. */
import { HoldfastError } from "../../support/errors.js";
import { readTheBoard } from "../board.js";
import type { Context, Outcome } from "../context.js";
import { waitingFor } from "../waiting.js";

export async function run(context: Context): Promise<Outcome> {
  const [id, gate] = [context.arg("ID"), context.arg("GATE")];
  const board = readTheBoard(context);
  const what = `a word on gate ${gate} of issue ${id}`;
  const state = await waitingFor(context, what, (signal) => board.waitForGate(id, gate, { signal }));
  if (state.status === "failed")
    throw new HoldfastError("E_GATE_BLOCKED", `gate ${gate} failed on issue ${id}, by ${state.by}`, {
      details: { issue: id, gate, state },
      next: [`holdfast issue show ${id}`],
    });
  return { data: { gate: { name: gate, issue: id, ...state } }, text: () => `gate ${gate} passed by ${state.by}` };
}
