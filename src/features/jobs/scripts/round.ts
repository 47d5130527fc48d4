/** A round of a worker: settles the runs that are over and starts new ones (a turn), in one step. */
import type { Party, Script } from "../../../client/kernel.js";
import { type Settlement, settleRest } from "./settle.js";
import { quickRound } from "./short-round.js";
import { answerAsked, restOfTurn, type Turn, type TurnOf, turn } from "./turn.js";

interface Round {
  readonly settled: readonly boolean[];
  readonly taken: Turn;
}

export function* round(settlements: readonly Settlement[], of: TurnOf, party: Party): Script<Round> {
  yield* answerAsked(of);
  const quick = yield* quickRound(settlements, of, party);
  const settled = yield* settleRest(settlements, quick?.answers, party);
  const taken = yield* restOfTurn(of, quick?.turn);
  if (!quick?.answers.includes("locks")) return { settled, taken };
  // They were settled after the turn: what they gave back is there for another.
  const more = yield* turn({ ...of, given: [], room: of.room - taken.runs.length });
  return { settled, taken: { ...more, runs: [...taken.runs, ...more.runs] } };
}
