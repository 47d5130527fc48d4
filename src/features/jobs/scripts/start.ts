/**
 * Starts a job by the rules of its kind and its own: acquires its locks, all or none and without waiting; then gives it a
 * number and a slot, and counts it everywhere.
 */

import { HoldfastError } from "../../../base/errors.js";
import type { AcquireRequest, Answer, Party, Script, StepTime } from "../../../client/kernel.js";
import { hashLeaseToken } from "../../../lock/lease-token.js";
import type { JobRun } from "../model.js";
import { askFor, limited, neededLocks } from "./kind-rules.js";
import { nextFence, rows, takeLocks, tell, the } from "./query.js";
import { type Definitions, kindRow } from "./state/definitions.js";
import { flowFor, refresh } from "./state/flows.js";
import { type JobRow, toJob } from "./state/job-row.js";
import { callNext, giveUp, isFirstFor, leaveLine, stepAside, waitLeftMs, wantsOf } from "./state/lock-queue.js";
import { countStart } from "./state/slots.js";

/** A place in line is asked for again and again; no store gives one for longer at a time. */
const LONGEST_PLACE_MS = 24 * 3_600_000;

export interface StartOf {
  readonly worker: string;
  readonly leaseMs: number;
  readonly definitions?: Definitions;
  readonly party: Party;
  newToken(): string;
}

/** Null when it could not have its locks, or belongs into another flow by the class of its kind. */
export function* start(picked: JobRow, of: StartOf, now: StepTime): Script<JobRun | null> {
  const kind = yield* kindRow(picked.kind);
  const due = limited(picked, kind);
  // mutant: kind-class: due.class !== picked.class → due.class !== picked.class && of.worker === ""
  if (due.class !== picked.class) {
    yield* move(picked, due.class, of.party, now);
    return null;
  }
  const needed = neededLocks(picked, kind, of.worker, of.definitions);
  if ("askOf" in needed) {
    yield* askFor(picked, needed.askOf, now);
    return null;
  }
  return yield* begin(
    yield* withLocks(picked, due.locks === needed.locks ? due : { ...due, locks: needed.locks }, of.party),
    kind?.typical_ms ?? null,
    of,
    now,
  );
}

/** Into the flow of this class, whose cap it counts against. */
function* move(row: JobRow, jobClass: JobRow["class"], party: Party, now: StepTime): Script<void> {
  yield* leaveLine(row, party, now);
  const { flow } = yield* flowFor(row.project, jobClass, row.needs);
  const sql = "UPDATE jobs SET class = ?1, flow = ?2, wait_key = NULL, ticket = NULL WHERE job = ?3";
  yield* rows(sql, jobClass, flow, row.job);
  yield* refresh(row.project);
}

/** Its place in line was for the locks that it needed then. */
function* withLocks(before: JobRow, row: JobRow, party: Party): Script<JobRow> {
  if (before.ticket === null || before.locks === row.locks) return row;
  yield { ask: "leave", ticketId: before.ticket, wants: wantsOf(before), party };
  return { ...row, ticket: null };
}

function* begin(row: JobRow, typicalMs: number | null, of: StartOf, now: StepTime): Script<JobRun | null> {
  const token = of.newToken();
  const tokenHash = hashLeaseToken(token);
  const answer = yield* locksFor(row, of, tokenHash, now);
  if (answer instanceof HoldfastError) {
    yield* giveUp(row, { code: answer.code, message: answer.message }, of.party, now);
    return null;
  }
  if (answer !== null && answer.kind !== "granted") {
    yield* stepAside(row, answer, of.party, now);
    return null;
  }
  const fence = yield* nextFence();
  const grants = (answer?.grants ?? []).map(({ resource, lockId }) => ({ resource, lockId }));
  yield* rows(
    `UPDATE jobs SET state = 'running', attempts = attempts + 1, worker = ?1, started_at = ?2, wait_since = NULL,
       error = CASE WHEN wait_key IS NULL THEN error END, wait_key = NULL, ticket = NULL, progress = NULL, asked_of = NULL,
       locks = ?4, max_attempts = ?5, timeout_ms = ?6 WHERE job = ?3`,
    of.worker,
    Math.floor(now.wallMs),
    row.job,
    row.locks,
    row.max_attempts,
    row.timeout_ms,
  );
  yield* countStart(row, fence, typicalMs, {
    worker: of.worker,
    until_ms: now.ms + of.leaseMs,
    epoch: now.epoch,
    lease_ms: of.leaseMs,
    started_ms: now.ms,
    grants: JSON.stringify(grants),
  });
  yield* callNext(row, now);
  yield* tell(of.party, row.job, fence, { change: "started", attempt: row.attempts + 1, worker: of.worker });
  const job = toJob(yield* the<JobRow>("SELECT * FROM jobs WHERE job = ?1", row.job));
  return { job, fence, leaseMs: of.leaseMs, token };
}

/** Null when it needs none; an error when waiting would not help. */
function* locksFor(
  row: JobRow,
  { party, leaseMs }: StartOf,
  tokenHash: string,
  now: StepTime,
): Script<Answer | HoldfastError | null> {
  if (row.locks === "[]") return null;
  const leftMs = Math.min(Math.max(1, waitLeftMs(row, now)), LONGEST_PLACE_MS);
  const asking = (ticketId: string | null, waitMs: number): AcquireRequest => ({
    wants: wantsOf(row),
    party: { ...party, owner: `job:${row.job}` },
    tokenHash,
    leaseMs,
    graceMs: null,
    detached: false,
    metadata: { job: row.job, kind: row.kind },
    presented: [],
    strictOrder: false,
    mustSteal: false,
    waitMs,
    ticketId,
  });
  try {
    const answer = yield* takeLocks(asking(row.ticket, row.ticket === null ? 0 : leftMs));
    if (answer.kind !== "conflict" || !(yield* isFirstFor(answer.contention.resource, row))) return answer;
    return yield* takeLocks(asking(null, leftMs));
  } catch (error) {
    if (error instanceof HoldfastError) return error;
    throw error;
  }
}
