/** A turn as one call, where the store can do that: as far as jobs without locks go. */
import type { Script, StepTime } from "../../store/contract.js";
import { hashLeaseToken } from "../../support/lease-token.js";
import type { JobRun } from "../model.js";
import { express } from "./ask.js";
import { type JobRow, toJob } from "./job-row.js";
import type { TurnOf } from "./turn.js";

interface Told {
  readonly chores: boolean;
  readonly met_locks: boolean;
  readonly called: number;
  readonly runs: readonly { readonly row: JobRow; readonly fence: number }[];
}

interface QuickTurn {
  readonly runs: readonly JobRun[];
  readonly called: number;
  /** False when there is something left that it cannot do. */
  readonly isAll: boolean;
}

/** Undefined where there is no such call. */
export function* quickTurn(of: TurnOf, now: StepTime): Script<QuickTurn | undefined> {
  const tokens = Array.from({ length: Math.max(0, of.room) }, () => of.newToken());
  const told = yield* express<Told>("job_turn", {
    worker: of.worker,
    node: of.node,
    has: JSON.stringify(of.has),
    concurrency: of.concurrency,
    room: of.room,
    lease_ms: of.leaseMs,
    token_hashes: tokens.map(hashLeaseToken),
    owner: of.party.owner,
    holder_id: of.party.holderId,
    now: now.ms,
  });
  if (told === undefined) return undefined;
  const runs = told.runs.map(({ row, fence }, at) => ({
    job: toJob(row),
    fence,
    leaseMs: of.leaseMs,
    token: tokens[at] ?? "",
  }));
  return { runs, called: told.called, isAll: !told.chores && !told.met_locks };
}
