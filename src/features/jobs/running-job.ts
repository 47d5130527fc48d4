/**
 * One run of a job in a worker: calls the handler and settles the outcome. While the store cannot be reached, the
 * settlement is sent again as long as the slot may still belong to this worker; after that the slot passes on by
 * itself.
 */

import { HoldfastError, isHoldfastError } from "../../base/errors.js";
import { sleep } from "../../base/sleep.js";
import type { Kernel, Scripts, Sql } from "../../client/kernel.js";
import { createBorrowedLease } from "../../client/lease/borrowed-lease.js";
import type { Guard } from "../../platform/process/watch-group.js";
import type { Keeper } from "../../platform/process/watcher.js";
import { asJobError, progressAsJson, resultAsJson, timedOut } from "./as-json.js";
import { CommandFailed, runJobCommand } from "./children/run-command.js";
import { runInChild } from "./children/run-in-child.js";
import type { RunTools } from "./define.js";
import { type Kind, NO_SUCH_KIND } from "./kind.js";
import type { JobRun } from "./model.js";
import { letGo } from "./scripts/settle.js";
import type { Ending } from "./scripts/state/slots.js";
import type { Settler } from "./settler.js";

const TRY_AGAIN_MS = 100;
/** Not now; nobody knows whether; the disk is full, and then no beat gets through either; a lock is being committed under. */
// mutant: job-settle-full-disk: ", "E_IO", "E_LOCK_CONFLICT" → ", "E_LOCK_CONFLICT"
const AGAIN: ReadonlySet<string> = new Set(["E_STORE_UNAVAILABLE", "E_COMMIT_UNCERTAIN", "E_IO", "E_LOCK_CONFLICT"]);

/** Why a run was ended that is not its own fault. */
export class Cancelled extends Error {}
export class HandedBack extends Error {}

/** What the worker lends to its runs. */
interface Hands {
  readonly kernel: Kernel;
  readonly scripts: Scripts;
  readonly settler: Settler;
  readonly keeper: Keeper;
}

export class RunInHand {
  readonly run: JobRun;
  readonly over: Promise<void>;
  /** Aborts it, with the reason. */
  readonly ended = new AbortController();
  /** As JSON, since the last beat that got through. */
  progress: string | undefined;
  /** Until when the slot is ours without another beat. */
  #trustedUntil: number;
  /** The process group it runs in, if it has one of its own. */
  #group: number | undefined;
  /** It has ended by itself, and only its last words are missing. */
  #isOver = false;
  readonly #hands: Hands;

  constructor(run: JobRun, kind: Kind | undefined, askedAt: number, hands: Hands) {
    this.run = run;
    this.#hands = hands;
    this.#trustedUntil = askedAt + run.leaseMs;
    this.over = this.#perform(kind ?? NO_SUCH_KIND);
  }

  /** A beat that was sent at this time got through, with this progress. */
  kept(askedAt: number, told: string | undefined): void {
    this.#trustedUntil = askedAt + this.run.leaseMs;
    if (this.progress === told) this.progress = undefined;
    if (this.#group !== undefined) this.#hands.keeper.keep(this.#group, this.#leftMs);
  }

  /** It was not heard of in time, or lost a lock, or the store is lost. */
  lose(reason = this.#loss()): void {
    this.#endUnlessOver(reason);
  }

  onStoreLost(error: HoldfastError): void {
    this.lose(error);
  }

  #loss(): HoldfastError {
    const why = "this run was not heard of in time, or lost a lock";
    return new HoldfastError("E_LOCK_NOT_HELD", `job ${this.run.job.id}: ${why}`);
  }

  /**
   * For want of time: what has ended in time, and is only heard of now, is settled as what it is. After a standstill the
   * timers come first, so the news of children is heard before.
   */
  #endUnlessOver(reason: HoldfastError): void {
    setImmediate(() => {
      // mutant: ended-in-time: if (!this.#isOver) this.ended.abort(reason); → this.ended.abort(reason);
      if (!this.#isOver) this.ended.abort(reason);
    });
  }

  /** No beat got through for a whole lease. */
  get isLapsed(): boolean {
    return performance.now() > this.#trustedUntil;
  }

  get #leftMs(): number {
    return this.#trustedUntil - performance.now();
  }

  /** Its group ends at the latest when the slot may be somebody else's. */
  readonly #guard: Guard = {
    started: (begin) => {
      const child = this.#hands.keeper.started(this.#leftMs, begin);
      this.#group = child.pid;
      return child;
    },
    over: (pid, killedBy) => {
      // That was the watcher.
      if (killedBy === "SIGKILL" && this.isLapsed) this.ended.abort(this.#loss());
      this.#isOver = true;
      this.#group = undefined;
      this.#hands.keeper.drop(pid);
    },
  };

  async #perform({ handler }: Pick<Kind, "handler">): Promise<void> {
    const { timeout_ms: limitMs } = this.run.job;
    const late = (): void => this.#endUnlessOver(timedOut(limitMs ?? 0));
    const limit = limitMs === null ? undefined : setTimeout(late, limitMs);
    const own: ((sql: Sql) => unknown)[] = [];
    let ending: Ending;
    try {
      const result = await this.#work(handler, own);
      if (this.ended.signal.aborted) throw this.ended.signal.reason;
      // What a command printed is bounded already, and need not be JSON of any size: it has done its work.
      const isCommand = this.run.job.command !== null;
      // mutant: job-command-output: isCommand ? result : → isCommand && false ? result :
      ending = { kind: "done", result: isCommand ? result : JSON.parse(resultAsJson(result)) };
    } catch (error) {
      ending = endingFor(error, this.ended.signal);
    } finally {
      clearTimeout(limit);
    }
    await this.#settle(ending, own);
  }

  async #work(handler: Kind["handler"], own: ((sql: Sql) => unknown)[]): Promise<unknown> {
    const { job, token } = this.run;
    const { signal } = this.ended;
    const keys = job.locks.map((lock) => lock.resource);
    const { kernel } = this.#hands;
    const lease = keys.length === 0 ? null : await createBorrowedLease(kernel, keys, token);
    if (job.command !== null || typeof handler !== "function") this.#hands.keeper.start();
    const locks = lease === null ? null : { lease, token };
    if (job.command !== null) return runJobCommand(job, locks, signal, this.#guard, kernel.env);
    const tools: RunTools = {
      signal,
      lease,
      release: () => this.#release(),
      progress: (value) => {
        this.progress = progressAsJson(value);
      },
      onSettle: (body) => own.push(body),
    };
    if (typeof handler === "function") return unless(signal, async () => handler(job, tools));
    const { url: store, storeId } = kernel;
    const access = { store, storeId, owner: kernel.requester.owner, token };
    return runInChild(handler, job, tools, access, this.#guard, kernel.env);
  }

  async #release(): Promise<void> {
    const { job, fence } = this.run;
    const party = { ...this.#hands.kernel.requester, owner: `job:${job.id}` };
    const isOurs = await this.#hands.scripts.run(() => letGo({ job: job.id, fence }, party), { durable: false });
    if (!isOurs) throw new HoldfastError("E_LOCK_NOT_HELD", `job ${job.id} was given on to another run`);
  }

  async #settle(ending: Ending, own: readonly ((sql: Sql) => unknown)[]): Promise<void> {
    const { job, fence } = this.run;
    const withRows = ending.kind === "done" && own.length > 0 ? { body: oneByOne(own) } : {};
    try {
      await this.#untilReached(() => this.#hands.settler.settle({ job: job.id, fence, ending, ...withRows }));
    } catch (error) {
      if (ending.kind === "done") await this.#settle({ kind: "failed", error: asJobError(error) }, []);
      // Else its slot lapses, and some worker takes it back.
    }
  }

  async #untilReached(step: () => Promise<unknown>): Promise<void> {
    for (;;)
      try {
        await step();
        return;
      } catch (error) {
        // Settling twice does no harm: the second time there is no slot.
        if (!isHoldfastError(error) || !AGAIN.has(error.code) || this.isLapsed) throw error;
        await sleep(TRY_AGAIN_MS);
      }
  }
}

function oneByOne(bodies: readonly ((sql: Sql) => unknown)[]): (sql: Sql) => unknown {
  return (sql) => {
    if (sql.answersAtOnce) return bodies.map((body) => body(sql)).find(isPromise);
    return bodies.reduce<Promise<unknown>>((before, body) => before.then(() => body(sql)), Promise.resolve());
  };
}

/** A store that answers at once refuses it. */
function isPromise(value: unknown): boolean {
  return value instanceof Promise;
}

/** A handler that does not heed its signal is left to itself: the run is over, and nothing it does is settled. */
function unless<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    work().then(resolve, reject);
  });
}

function endingFor(error: unknown, { aborted, reason }: AbortSignal): Ending {
  const kept = error instanceof CommandFailed ? { result: error.result } : {};
  if (aborted && reason instanceof HandedBack) return { kind: "handed back" };
  if (aborted && reason instanceof Cancelled) return { kind: "cancelled", ...kept };
  return { kind: "failed", error: asJobError(aborted ? reason : error), ...kept };
}
