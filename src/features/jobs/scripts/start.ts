/**
 * Starts a job: acquires its locks, all or none and without waiting; then gives it a number and a slot, and counts it
 * everywhere.
 */

import { HoldfastError } from "../../../base/errors.js";
import type { AcquireRequest, Answer, Party, Script, StepTime } from "../../../client/kernel.js";
import { hashLeaseToken } from "../../../lock/lease-token.js";
import type { JobRun } from "../model.js";
import { nextFence, rows, takeLocks, tell, the } from "./query.js";
import { type JobRow, toJob } from "./state/job-row.js";
import { callNext, giveUp, isFirstFor, stepAside, waitLeftMs, wantsOf } from "./state/lock-queue.js";
import { countStart } from "./state/slots.js";

/** A place in line is asked for again and again; no store gives one for longer at a time. */
const LONGEST_PLACE_MS = 24 * 3_600_000;

export interface StartOf {
  readonly worker: string;
  readonly leaseMs: number;
  readonly party: Party;
  newToken(): string;
}

/** Null when it could not have its locks. */
export function* start(row: JobRow, of: StartOf, now: StepTime): Script<JobRun | null> {
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
  const grants = (answer?.grants ?? []).map(({ resource, lockId }) => ({ resource, lockId, tokenHash }));
  yield* rows(
    `UPDATE jobs SET state = 'running', attempts = attempts + 1, worker = ?1, started_at = ?2, wait_since = NULL,
       error = CASE WHEN wait_key IS NULL THEN error END, wait_key = NULL, ticket = NULL, progress = NULL WHERE job = ?3`,
    of.worker,
    Math.floor(now.wallMs),
    row.job,
  );
  yield* countStart(row, fence, {
    worker: of.worker,
    until_ms: now.ms + of.leaseMs,
    epoch: now.epoch,
    lease_ms: of.leaseMs,
    started_ms: now.ms,
    grants: JSON.stringify(grants),
    token_hash: tokenHash,
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
