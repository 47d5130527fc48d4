/**
 * A worker: takes turns as long as it has room, runs the handlers, beats for all runs at once, and settles each. The beat
 * comes from this event loop: a handler that blocks it loses its slot, which is right, since nobody can tell it from a
 * worker that hangs. Work that blocks belongs into a command.
 *
 * What a crash leaves: slots that nobody beats. The next turn of any worker takes them back when their lease is over.
 */
import { hostname } from "node:os";
import { createBorrowedLease } from "../lease/borrowed-lease.js";
import type { LeaseHome } from "../lease/lease-home.js";
import type { Scripts, Sql } from "../store/contract.js";
import { sleep } from "../support/deadline.js";
import { HoldfastError, isHoldfastError } from "../support/errors.js";
import { newLeaseToken } from "../support/lease-token.js";
import { COMMANDS, kindLabel } from "./define.js";
import type { Kind } from "./jobs.js";
import type { JobRun } from "./model.js";
import { runCommand } from "./run-command.js";
import { beat, settle } from "./steps/settle.js";
import type { Ending } from "./steps/slots.js";
import { newWorkerName, takeBackOld, turn } from "./steps/turn.js";

export interface WorkerOptions {
  /** Runs at once. Default 4. */
  readonly concurrency?: number;
  /** Labels of what this machine can reach, such as `fs:projects-a`. */
  readonly has?: readonly string[];
  /** The machine's name. Default its host name. */
  readonly node?: string;
  /** Runs jobs that are commands too. */
  readonly commands?: boolean;
  /** A run that is not heard of for this long is taken back. Default 30 s. */
  readonly leaseMs?: number;
  /** How often it looks for work when there was none. Default 100 ms. */
  readonly pollMs?: number;
}

export interface Worker {
  readonly name: string;
  /** Runs in hand. */
  readonly running: number;
  /** Takes no more; resolves when what runs is over, or handed back after `graceMs`. */
  stop(options?: { readonly graceMs?: number }): Promise<void>;
}

interface InHand {
  readonly run: JobRun;
  readonly ended: AbortController;
  progress: unknown;
  over: Promise<void>;
}

export function startWorker(
  home: LeaseHome,
  scripts: Scripts,
  kinds: ReadonlyMap<string, Kind>,
  options: WorkerOptions,
): Worker {
  const { concurrency = 4, leaseMs = 30_000, pollMs = 100, node = hostname() } = options;
  const name = newWorkerName(node);
  const has = [...kinds.keys()].map(kindLabel).concat(options.has ?? [], options.commands ? [COMMANDS] : []);
  const inHand = new Map<number, InHand>();
  const stopping = new AbortController();
  const { party } = home;

  const oneTurn = (): Promise<JobRun[]> =>
    scripts.run(
      () =>
        turn({
          worker: name,
          node,
          has,
          concurrency,
          room: concurrency - inHand.size,
          leaseMs,
          party,
          newToken: newLeaseToken,
        }),
      { durable: false },
    );

  const end = async (each: InHand, ending: Ending, body?: (sql: Sql) => unknown): Promise<void> => {
    const { job, fence } = each.run;
    const settlement = { job: job.id, fence, ending, ...(body === undefined ? {} : { body }) };
    try {
      await scripts.run(() => settle(settlement, party), { durable: true });
    } catch (error) {
      const failed: Ending = { kind: "failed", error: asJobError(error) };
      await scripts.run(() => settle({ job: job.id, fence, ending: failed }, party), { durable: true });
    }
  };

  const perform = async (each: InHand): Promise<void> => {
    const { job, token } = each.run;
    const onSettle: ((sql: Sql) => unknown)[] = [];
    const limit =
      job.timeout_ms === null
        ? undefined
        : setTimeout(() => each.ended.abort(timedOut(job.timeout_ms)), job.timeout_ms);
    try {
      const keys = job.locks.map((lock) => lock.resource);
      const lease = keys.length === 0 ? null : await createBorrowedLease(home, keys, token);
      const work =
        job.command !== null
          ? runCommand(job, each.ended.signal)
          : kinds.get(job.kind)?.handler(job, {
              signal: each.ended.signal,
              lease,
              progress: (value) => {
                each.progress = value;
              },
              onSettle: (body) => onSettle.push(body),
            });
      const result = await raced(Promise.resolve(work), each.ended.signal);
      const body = onSettle.length === 0 ? undefined : (sql: Sql) => onSettle.forEach((own) => void own(sql));
      await end(each, { kind: "done", result }, body);
    } catch (error) {
      await end(each, endingFor(error, each.ended.signal));
    } finally {
      clearTimeout(limit);
      inHand.delete(job.id);
    }
  };

  const keep = async (): Promise<void> => {
    const all = [...inHand.values()];
    if (all.length === 0) return;
    const beats = all.map(({ run, progress }) => ({
      job: run.job.id,
      fence: run.fence,
      ...(progress === undefined ? {} : { progress }),
    }));
    const pulses = await scripts.run(() => beat(beats), { durable: false });
    for (const [at, each] of all.entries()) {
      if (pulses[at] === "lost") each.ended.abort(lost(each.run.job.id));
      if (pulses[at] === "cancelling") each.ended.abort(cancelled(each.run.job.id));
    }
  };

  const beats = setInterval(() => void keep().catch(() => undefined), Math.max(50, leaseMs / 4));

  const takeTurns = async (): Promise<void> => {
    await scripts.run(() => takeBackOld(party), { durable: false });
    while (!stopping.signal.aborted) {
      const runs = inHand.size < concurrency ? await oneTurn().catch(() => []) : [];
      for (const run of runs) {
        const each: InHand = { run, ended: new AbortController(), progress: undefined, over: Promise.resolve() };
        inHand.set(run.job.id, each);
        each.over = perform(each);
      }
      if (runs.length === 0) await sleep(pollMs, stopping.signal).catch(() => undefined);
    }
  };
  const loop = takeTurns();

  return {
    name,
    get running() {
      return inHand.size;
    },
    async stop({ graceMs = Number.POSITIVE_INFINITY } = {}) {
      stopping.abort();
      await loop;
      const late = Number.isFinite(graceMs) ? setTimeout(() => handBack(inHand), graceMs) : undefined;
      await Promise.all([...inHand.values()].map((each) => each.over));
      clearTimeout(late);
      clearInterval(beats);
    },
  };
}

class HandedBack extends Error {}

function handBack(inHand: ReadonlyMap<number, InHand>): void {
  for (const each of inHand.values()) each.ended.abort(new HandedBack("the worker stops"));
}

async function raced<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    work.then(resolve, reject);
  });
}

function endingFor(error: unknown, signal: AbortSignal): Ending {
  if (signal.aborted && signal.reason instanceof HandedBack) return { kind: "handed back" };
  if (signal.aborted && signal.reason instanceof Cancelled) return { kind: "cancelled" };
  return { kind: "failed", error: asJobError(signal.aborted ? signal.reason : error) };
}

class Cancelled extends Error {}

function cancelled(job: number): Cancelled {
  return new Cancelled(`job ${job} was cancelled`);
}

function timedOut(ms: number | null): HoldfastError {
  return new HoldfastError("E_LOCK_TIMEOUT", `it ran longer than its limit of ${ms} ms`);
}

function lost(job: number): HoldfastError {
  return new HoldfastError("E_LOCK_NOT_HELD", `job ${job} was given on: this run had not been heard of in time`);
}

function asJobError(error: unknown): { code: string; message: string } {
  if (isHoldfastError(error)) return { code: error.code, message: error.message };
  return { code: "failed", message: error instanceof Error ? error.message : String(error) };
}
