/** Removes ended jobs after the time that they are kept, so that nothing grows with history. A removal is on record. */
import type { Party, Script } from "../../../client/kernel.js";
import { END_STATES, type EndState } from "../retention.js";
import { one, rows, tell, time } from "./query.js";

/** In one step, of each state. */
const MOST_TAKEN_AWAY = 200;

export function* keepNow(): Script<Record<EndState, number | null>> {
  const kept = yield* rows<{ state: EndState; keep_ms: number | null }>("SELECT state, keep_ms FROM job_keep");
  const of = (state: EndState): number | null => kept.find((row) => row.state === state)?.keep_ms ?? null;
  return { done: of("done"), failed: of("failed"), cancelled: of("cancelled") };
}

export function* setKeep(keep: Readonly<Partial<Record<EndState, number | null>>>, party: Party): Script<void> {
  for (const [state, ms] of Object.entries(keep))
    yield* rows("UPDATE job_keep SET keep_ms = ?1 WHERE state = ?2", ms, state);
  yield* tell(party, 0, null, { change: "retention set", ...keep });
}

/** What the calendar says, and when the last job ended as far as is on record. */
export function* lookAtCalendar(): Script<{ readonly wallMs: number; readonly lastEndMs: number | null }> {
  const { wallMs } = yield* time();
  const ends: number[] = [];
  for (const state of END_STATES) {
    const sql = "SELECT ended_at FROM jobs WHERE state = ?1 AND ended_at IS NOT NULL ORDER BY ended_at DESC LIMIT 1";
    const last = yield* one<{ ended_at: number }>(sql, state);
    if (last !== undefined) ends.push(last.ended_at);
  }
  return { wallMs, lastEndMs: ends.length === 0 ? null : Math.max(...ends) };
}

/** By the calendar as it is believed. True when there may be more. */
export function* prune(party: Party, wallMs: number): Script<boolean> {
  let isMore = false;
  for (const [state, ms] of Object.entries(yield* keepNow())) {
    if (ms === null) continue;
    const gone = yield* rows<{ job: number }>(
      `DELETE FROM jobs WHERE job IN (SELECT job FROM jobs WHERE state = ?1 AND ended_at IS NOT NULL AND ended_at <= ?2
         ORDER BY ended_at LIMIT ?3) RETURNING job`,
      state,
      Math.floor(wallMs - ms),
      MOST_TAKEN_AWAY,
    );
    if (gone.length > 0) yield* tell(party, 0, null, { change: "taken away", state, jobs: gone.length });
    isMore ||= gone.length === MOST_TAKEN_AWAY;
  }
  return isMore;
}
