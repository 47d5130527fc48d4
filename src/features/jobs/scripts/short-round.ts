/** Settles runs and takes a turn in one call, where the store can do that: as far as jobs without locks go. */
import type { Party, Script } from "../../../client/kernel.js";
import type { JobRun } from "../model.js";
import { express } from "./query.js";
import type { Settlement } from "./settle.js";
import { askable, kindsAsJson } from "./state/definitions.js";
import { type JobRow, toJob } from "./state/job-row.js";
import { errorOf, resultOf } from "./state/slots.js";
import type { TurnOf } from "./turn.js";

/** What became of a settlement; one with locks is left to the caller. */
export type Told = "settled" | "late" | "locks";

interface ToldRound {
  readonly answers: readonly Told[];
  readonly chores: boolean;
  readonly met_special: boolean;
  readonly called: number;
  /** The number of the first run; those of the others come after it. */
  readonly first: number | null;
  readonly runs: readonly JobRow[];
}

export interface QuickTurn {
  readonly runs: readonly JobRun[];
  readonly called: number;
  /** False when there is something left that it cannot do. */
  readonly isAll: boolean;
}

interface QuickRound {
  readonly answers: readonly Told[];
  readonly turn: QuickTurn;
}

/** Undefined where there is no such call. Without `of` no turn is taken. */
export function* quickRound(
  settlements: readonly Settlement[],
  of: TurnOf | null,
  party: Party,
): Script<QuickRound | undefined> {
  const tokens = Array.from({ length: Math.max(0, of?.room ?? 0) }, () => of?.newToken() ?? "");
  const told = yield* express<ToldRound>("job_round", {
    jobs: settlements.map(({ job }) => job),
    fences: settlements.map(({ fence }) => fence),
    endings: settlements.map(({ ending }) => ending.kind),
    results: settlements.map(({ ending }) => resultOf(ending)),
    errors: settlements.map(({ ending }) => errorOf(ending)),
    worker: of?.worker ?? null,
    node: of?.node ?? null,
    has: of === null ? null : JSON.stringify(of.has),
    kinds: of === null ? null : kindsAsJson(of.definitions),
    functions: of === null ? [] : askable(of.worker, of.definitions),
    concurrency: of?.concurrency ?? null,
    room: of?.room ?? null,
    lease_ms: of?.leaseMs ?? null,
    owner: party.owner,
    holder_id: party.holderId,
  });
  if (told === undefined) return undefined;
  const runs = told.runs.map((row, at) => ({
    job: toJob(row),
    fence: (told.first ?? 0) + at,
    leaseMs: of?.leaseMs ?? 0,
    token: tokens[at] ?? "",
  }));
  return { answers: told.answers, turn: { runs, called: told.called, isAll: !told.chores && !told.met_special } };
}
