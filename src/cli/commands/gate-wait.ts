/** `holdfast gate wait ID GATE`. The exit code is the verdict. */
import { HoldfastError } from "../../support/errors.js";
import { readTheBoard } from "../board.js";
import type { Context, Outcome } from "../context.js";
import { tellingLater } from "../telling-later.js";
import { waitingFor } from "../waiting.js";

export async function run(context: Context): Promise<Outcome> {
  const [id, gate] = [context.arg("ID"), context.arg("GATE")];
  const board = readTheBoard(context);
  const told = { late: `gate ${gate} of issue ${id} neither passed nor failed`, look: `holdfast issue show ${id}` };
  const waited = waitingFor(context, told, (signal) => board.waitForGate(id, gate, { signal }));
  const waiting = `waiting for gate ${gate} of issue ${id} to pass or fail (Ctrl-C stops)`;
  const state = await tellingLater(context.screen, () => waiting, waited);
  if (state.status === "failed")
    throw new HoldfastError("E_GATE_BLOCKED", `gate ${gate} failed on issue ${id}, by ${state.by}`, {
      details: { issue: id, gate, state },
      next: [`holdfast issue show ${id}`],
    });
  return { data: { gate: { name: gate, issue: id, ...state } }, text: () => `gate ${gate} passed by ${state.by}` };
}
