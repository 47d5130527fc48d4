/**
 * A turn: some housekeeping, then as many starts as the worker has room for. Each start costs the same however many jobs
 * and projects wait: the ready flow with the least served time, its first job, its locks without waiting, a slot.
 *
 * A job that cannot have its locks steps aside: it leaves the flow, the first of those that want the same key stands in
 * that lock's line, and the next job of the flow may go.
 */
import { randomUUID } from "node:crypto";
import type { Key } from "../../lock/key.js";
import type { AcquireRequest, Answer, Party, Script, StepTime } from "../../store/contract.js";
import { HoldfastError } from "../../support/errors.js";
import { hashLeaseToken } from "../../support/lease-token.js";
import type { JobLock, JobRun } from "../model.js";
import { nextFence, one, rows, takeLocks, tell, the, time } from "./ask.js";
import { type Flow, hasRoom, hasRoomForMaps, projectOf, refresh } from "./flows.js";
import { type JobRow, toJob } from "./job-row.js";
import { countStart, endRun, type Slot } from "./slots.js";

export interface TurnOf {
  readonly worker: string;
  readonly node: string;
  readonly has: readonly string[];
  readonly concurrency: number;
  /** How many it can begin now. */
  readonly room: number;
  readonly leaseMs: number;
  readonly party: Party;
  newToken(): string;
}

const HOUSEKEEPING = 50;
/** How often the first that waits for a lock asks again, so that it keeps its place in line. */
const ASK_AGAIN_MS = 500;
/** A flow that turns out to have nothing to start is put right; more of them in a row than this wait for the next turn. */
const TRIES = 200;

export function* turn(of: TurnOf): Script<JobRun[]> {
  const now = yield* time();
  yield* register(of, now);
  yield* takeBackExpired(of.party, now);
  yield* callDue(now);
  const runs: JobRun[] = [];
  for (let tries = 0; runs.length < of.room && tries < TRIES; tries += 1) {
    const picked = yield* pick(of);
    if (picked === null) break;
    const run = yield* start(picked, of, now);
    if (run !== null) runs.push(run);
  }
  return runs;
}

function* register(of: TurnOf, now: StepTime): Script<void> {
  yield* rows(
    "INSERT OR REPLACE INTO job_workers VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    of.worker,
    of.node,
    JSON.stringify(of.has),
    of.concurrency,
    now.ms + of.leaseMs,
    now.epoch,
  );
}

/** Slots whose lease ran out: their runs settle nothing any more, and their locks end in this same step. */
function* takeBackExpired(party: Party, now: StepTime): Script<void> {
  const slots = yield* rows<Slot>("SELECT * FROM job_slots WHERE until_ms < ?1 LIMIT ?2", now.ms, HOUSEKEEPING);
  for (const { job, fence, worker } of slots) yield* takeBack(job, fence, worker, party);
}

/** After a restart of the machine, whose clock begins anew, nobody of before is left. */
export function* takeBackOld(party: Party): Script<number> {
  const { epoch } = yield* time();
  const slots = yield* rows<Slot>("SELECT * FROM job_slots WHERE epoch <> ?1", epoch);
  for (const { job, fence, worker } of slots) yield* takeBack(job, fence, worker, party);
  return slots.length;
}

function* takeBack(job: number, fence: number, worker: string, party: Party): Script<void> {
  const message = `its worker ${worker} was not heard of for the length of its lease`;
  yield* endRun(job, fence, { kind: "failed", error: { code: "E_LOCK_EXPIRED", message } }, party);
}

/** Jobs whose time has come, and waiting ones that are to ask again. */
function* callDue(now: StepTime): Script<void> {
  for (const state of ["scheduled", "waiting"]) {
    const due = yield* rows<JobRow>(
      `SELECT * FROM jobs WHERE state = '${state}' AND run_at <= ?1 ORDER BY run_at, job LIMIT ?2`,
      Math.floor(now.wallMs),
      HOUSEKEEPING,
    );
    for (const { job } of due) yield* rows("UPDATE jobs SET state = 'ready' WHERE job = ?1", job);
    for (const project of new Set(due.map((row) => row.project))) yield* refresh(project);
  }
}

/** The job to start next, or null when none may. */
function* pick(of: TurnOf): Script<JobRow | null> {
  const gates = yield* rows<{ name: string; cap: number | null; running: number }>(
    "SELECT name, cap, running FROM job_gates WHERE name IN ('global', 'cpu', 'io')",
  );
  const isOpen = (name: string): boolean => gates.some((gate) => gate.name === name && hasRoom(gate));
  if (!isOpen("global")) return null;
  const has = new Set(of.has);
  const all = yield* rows<{ needs: string }>("SELECT needs FROM job_needs");
  const met = all.filter(({ needs }) => (JSON.parse(needs) as string[]).every((need) => has.has(need)));
  for (;;) {
    let least: Flow | undefined;
    for (const jobClass of ["cpu", "io"].filter(isOpen))
      for (const { needs } of met) {
        const flow = yield* one<Flow>(
          "SELECT * FROM job_flows WHERE state = 'ready' AND class = ?1 AND needs = ?2 ORDER BY vt, flow LIMIT 1",
          jobClass,
          needs,
        );
        if (flow !== undefined && (least === undefined || flow.vt < least.vt)) least = flow;
      }
    if (least === undefined) return null;
    const job = yield* firstOf(least);
    if (job !== null) {
      yield* rows("UPDATE job_clock SET vt = max(vt, ?1)", least.vt);
      return job;
    }
    yield* refresh(least.project);
    const after = yield* the<Flow>("SELECT * FROM job_flows WHERE flow = ?1", least.flow);
    if (after.state === "ready") return null;
  }
}

function* firstOf({ flow, project: name }: Flow): Script<JobRow | null> {
  const project = yield* projectOf(name);
  if (!hasRoom(project)) return null;
  const sql =
    "SELECT * FROM jobs WHERE state = 'ready' AND flow = ?1 AND is_map = ?2 ORDER BY priority DESC, job LIMIT 1";
  const plain = yield* one<JobRow>(sql, flow, 0);
  const map = hasRoomForMaps(project) ? yield* one<JobRow>(sql, flow, 1) : undefined;
  if (plain === undefined || map === undefined) return plain ?? map ?? null;
  const isMapFirst = map.priority > plain.priority || (map.priority === plain.priority && map.job < plain.job);
  return isMapFirst ? map : plain;
}

function* start(row: JobRow, of: TurnOf, now: StepTime): Script<JobRun | null> {
  const token = of.newToken();
  const party = { ...of.party, owner: `job:${row.job}` };
  const answer = yield* locksFor(row, of, party, hashLeaseToken(token), now);
  if (answer !== null && answer.kind !== "granted") {
    yield* stepAside(row, answer, of.party, now);
    return null;
  }
  const fence = yield* nextFence();
  const grants = (answer?.grants ?? []).map(({ resource, lockId, tokenHash }) => ({ resource, lockId, tokenHash }));
  yield* rows(
    `UPDATE jobs SET state = 'running', attempts = attempts + 1, worker = ?1, started_at = ?2, wait_key = NULL,
       wait_since = NULL, ticket = NULL, progress = NULL WHERE job = ?3`,
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
    token_hash: hashLeaseToken(token),
  });
  if (row.wait_key !== null) yield* callNextFor(row.wait_key, now);
  yield* tell(of.party, row.job, fence, { change: "started", attempt: row.attempts + 1, worker: of.worker });
  const job = toJob(yield* the<JobRow>("SELECT * FROM jobs WHERE job = ?1", row.job));
  return { job, fence, leaseMs: of.leaseMs, token };
}

/** Null when it needs none. One mode a request: locks of several modes are all taken, or none. */
function* locksFor(row: JobRow, of: TurnOf, party: Party, tokenHash: string, now: StepTime): Script<Answer | null> {
  const locks = JSON.parse(row.locks) as JobLock[];
  if (locks.length === 0) return null;
  const isFirst = yield* isFirstFor(row.wait_key, row.job);
  const waited = row.wait_since === null || row.wait_epoch !== now.epoch ? 0 : now.ms - row.wait_since;
  const request: AcquireRequest = {
    wants: locks.map(({ resource, mode }) => ({ resource: resource as Key, mode, permits: null })),
    party,
    tokenHash,
    leaseMs: of.leaseMs,
    graceMs: null,
    detached: false,
    metadata: { job: row.job, kind: row.kind },
    presented: [],
    strictOrder: false,
    mustSteal: false,
    waitMs: isFirst ? Math.max(1, row.lock_wait_ms - waited) : 0,
    ticketId: isFirst ? row.ticket : null,
  };
  try {
    return yield* takeLocks(request);
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    return { kind: "conflict", contention: refusalOf(error) };
  }
}

function refusalOf(error: HoldfastError): Extract<Answer, { kind: "conflict" }>["contention"] {
  return (error.details.contention ?? { resource: "", owner: null, message: error.message }) as never;
}

function* stepAside(
  row: JobRow,
  answer: Exclude<Answer, { kind: "granted" }>,
  party: Party,
  now: StepTime,
): Script<void> {
  const since = row.wait_epoch === now.epoch ? (row.wait_since ?? now.ms) : now.ms;
  const { resource, owner } = answer.contention;
  const message = `waits for ${resource}, held by ${owner ?? "somebody"}`;
  if (now.ms - since >= row.lock_wait_ms) {
    const error = { code: "E_LOCK_TIMEOUT", message: `could not have its locks in ${row.lock_wait_ms} ms: ${message}` };
    yield* giveUp(row, error, party, now);
    return;
  }
  const isFirst = yield* isFirstFor(resource, row.job);
  const askAgain = isFirst ? ASK_AGAIN_MS : row.lock_wait_ms - (now.ms - since);
  yield* rows(
    `UPDATE jobs SET state = 'waiting', wait_key = ?1, wait_since = ?2, wait_epoch = ?3, run_at = ?4, ticket = ?5,
       error = ?6 WHERE job = ?7`,
    resource,
    since,
    now.epoch,
    Math.ceil(now.wallMs + askAgain),
    answer.kind === "queued" ? answer.ticketId : null,
    JSON.stringify({ code: "E_LOCK_CONFLICT", message }),
    row.job,
  );
  yield* refresh(row.project);
}

/** A start that did not come about is an attempt too: it is tried again later, or has failed for good. */
function* giveUp(row: JobRow, error: { code: string; message: string }, party: Party, now: StepTime): Script<void> {
  const attempts = row.attempts + 1;
  const isOver = attempts >= row.max_attempts;
  yield* rows(
    `UPDATE jobs SET state = ?1, attempts = ?2, wait_key = NULL, wait_since = NULL, ticket = NULL, error = ?3, run_at = ?4,
       ended_at = ?5 WHERE job = ?6`,
    isOver ? "failed" : "scheduled",
    attempts,
    JSON.stringify(error),
    Math.ceil(now.wallMs + 1_000 * 2 ** attempts),
    isOver ? Math.floor(now.wallMs) : null,
    row.job,
  );
  yield* refresh(row.project);
  yield* tell(party, row.job, null, { change: "failed", state: isOver ? "failed" : "scheduled", error });
  if (row.wait_key !== null) yield* callNextFor(row.wait_key, now);
}

/** The first of those that wait for a key; null when nobody does. */
function* headOf(key: string | null): Script<number | null> {
  if (key === null) return null;
  const first = yield* one<{ job: number }>(
    "SELECT job FROM jobs WHERE state = 'waiting' AND wait_key = ?1 ORDER BY job LIMIT 1",
    key,
  );
  return first?.job ?? null;
}

/** Whether nobody who came before waits for the key. */
function* isFirstFor(key: string | null, job: number): Script<boolean> {
  const head = yield* headOf(key);
  return head === null || head >= job;
}

function* callNextFor(key: string, now: StepTime): Script<void> {
  const next = yield* headOf(key);
  if (next !== null) yield* rows("UPDATE jobs SET run_at = ?1 WHERE job = ?2", Math.floor(now.wallMs), next);
}

/** A name that no other worker has, also after a restart. */
export function newWorkerName(node: string): string {
  return `${node}:${randomUUID()}`;
}
