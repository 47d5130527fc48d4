/** The requests that a script yields, as one line each, so that the steps read like what they do. */

import type { AcquireRequest, Answer, JobLocks, Party, Script, StepTime } from "../../../client/kernel.js";
import type { Key } from "../../../lock/key.js";
import { JOBS_TREE } from "../../../lock/reserved-kinds.js";

export function* rows<R>(sql: string, ...values: readonly unknown[]): Script<R[]> {
  return (yield { ask: "rows", sql, values }) as R[];
}

export function* one<R>(sql: string, ...values: readonly unknown[]): Script<R | undefined> {
  return (yield* rows<R>(sql, ...values))[0];
}

/** For a row that is always there. */
export function* the<R>(sql: string, ...values: readonly unknown[]): Script<R> {
  const row = yield* one<R>(sql, ...values);
  if (row === undefined) throw new RangeError(`no row for ${sql}`);
  return row;
}

export function* time(): Script<StepTime> {
  return (yield { ask: "time" }) as StepTime;
}

export function* nextFence(): Script<number> {
  return (yield { ask: "fence", tree: JOBS_TREE as Key }) as number;
}

export function* takeLocks(request: AcquireRequest): Script<Answer> {
  return (yield { ask: "acquire", request }) as Answer;
}

export function* releaseLocks(locks: JobLocks, party: Party): Script<void> {
  if (locks.grants.length > 0) yield { ask: "release", locks, party };
}

/** Undefined where the store cannot do it in one go: then it is done step by step. */
export function* express<R>(name: string, values: Readonly<Record<string, unknown>>): Script<R | undefined> {
  return (yield { ask: "express", name, values }) as R | undefined;
}

/**
 * False while a transaction that is open adds a job under this unique key: it would have to be waited for, and that holds
 * everybody up. Asked before it is looked for, since what was added until then can be seen after it.
 */
export function* mayAdd(uniqueKey: string): Script<boolean> {
  return (yield* express<boolean>("job_may_add", { unique_name: uniqueKey })) ?? true;
}

/** Every change of a job is on record. */
export function* tell(
  party: Party,
  job: number,
  fencingToken: number | null,
  details: Readonly<Record<string, unknown>>,
): Script<void> {
  const resource = `${JOBS_TREE}/${job}` as Key;
  yield { ask: "audit", entry: { event: "job", resource, party, fencingToken, details } };
}
