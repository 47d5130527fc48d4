/** The jobs of a workspace: adding, reading, waiting, caps; and the kinds that this program can run. */

import { checkOptions, type OptionNames } from "../../base/check-options.js";
import { HoldfastError } from "../../base/errors.js";
import { sleep } from "../../base/sleep.js";
import type { Holdfast } from "../../client/holdfast.js";
import { type Kernel, kernelOf, type Script, type Scripts, type Sql } from "../../client/kernel.js";
import { parseKey } from "../../lock/key.js";
import { profileOf } from "../../lock/settings.js";
import { type Caps, parseCaps } from "./cap-names.js";
import {
  ENQUEUE,
  type EnqueueOptions,
  type JobHandler,
  type KindOptions,
  parseHandler,
  parseLocks,
  parseName,
  parseNewJob,
  parsePage,
  parseProjectSettings,
} from "./define.js";
import { addIn, type PostgresClient } from "./enqueue-in.js";
import { type Kind, newKind } from "./kind.js";
import type { JobLock, JobRecord, NewJob } from "./model.js";
import { type EndState, type Keep, parseKeep } from "./retention.js";
import { cancel, type Enqueued, enqueue, retryJob } from "./scripts/enqueue.js";
import { keepNow, setKeep } from "./scripts/prune.js";
import { type JobPage, jobNumbered, listJobs } from "./scripts/read-jobs.js";
import { capsNow, type ProjectSettings, setCaps, setProject } from "./scripts/state/caps.js";
import type { Project } from "./scripts/state/flows.js";
import { type Lanes, lanesNow } from "./scripts/state/lanes.js";
import { startWorker, type Worker, type WorkerOptions } from "./worker.js";

/** How often a wait looks; a worker's own settlements are seen sooner. */
const LOOK_EVERY_MS = 100;
const OVER = new Set(["done", "failed", "cancelled"]);

export interface WaitOptions {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** Told of the job each time it is looked at. */
  readonly onProgress?: (job: JobRecord) => void;
}

const WAIT: OptionNames<WaitOptions> = { timeoutMs: true, signal: true, onProgress: true };
const LANES: OptionNames<{ readonly project?: string }> = { project: true };

/** `E_CONFIG` where the store has no jobs. */
export function openJobs(holdfast: Holdfast): Jobs {
  const kernel = kernelOf(holdfast);
  const { scripts, url } = kernel;
  if (scripts === null)
    throw new HoldfastError("E_CONFIG", `${url} has no jobs`, {
      reason: "unsupported_store",
      next: ["Use a store on SQLite or PostgreSQL: sqlite:PATH, postgres://…."],
    });
  return new Jobs(kernel, scripts);
}

export class Jobs {
  readonly #kernel: Kernel;
  readonly #scripts: Scripts;
  readonly #kinds = new Map<string, Kind>();

  /** @internal Use `openJobs`. */
  constructor(kernel: Kernel, scripts: Scripts) {
    this.#kernel = kernel;
    this.#scripts = scripts;
  }

  /**
   * Defines how jobs of this kind are run here: by a function in this process, or, for work that keeps a core busy, by the
   * `handler` that a module exports, in a process of its own for each run. The options hold for all jobs of the kind while
   * a worker of this process is there, whichever process adds them. `Payload` is trusted, not checked.
   * Throws `E_INVALID_ARGUMENT`.
   */
  define<Payload = unknown>(kind: string, options: KindOptions<Payload>, handler: JobHandler<Payload> | URL): void {
    parseName(kind, "kind");
    // The payload is what a producer made it: its type is the caller's word.
    const untyped = { options: options as KindOptions, handler: handler as JobHandler | URL };
    this.#kinds.set(
      kind,
      newKind(untyped.options, (locks) => this.#checked(locks), parseHandler(untyped.handler)),
    );
  }

  /** Adds a job, durably. With `unique`, the one that is there already, if any. */
  async enqueue(kind: string, payload: unknown, options: EnqueueOptions): Promise<JobRecord> {
    return (await this.add(kind, payload, options)).job;
  }

  /** The same, and whether it is a new one. */
  async add(kind: string, payload: unknown, options: EnqueueOptions): Promise<Enqueued> {
    const job = this.#parsed(kind, payload, options);
    return this.#run(() => enqueue(job, this.#kernel.requester));
  }

  /**
   * Adds a job in a transaction of yours, with your rows or not at all: `sql` is what `lease.transaction`, `onSettle` or
   * the DAL gives you, or a client of `pg` with a transaction open. Its number; a promise of it on PostgreSQL.
   */
  enqueueIn(
    sql: Sql | PostgresClient,
    kind: string,
    payload: unknown,
    options: EnqueueOptions,
  ): number | Promise<number> {
    return addIn(sql, this.#parsed(kind, payload, options), this.#nowMs);
  }

  #parsed(kind: string, payload: unknown, options: EnqueueOptions): NewJob {
    checkOptions(options, ENQUEUE);
    const of = this.#kinds.get(kind)?.options ?? {};
    return parseNewJob(kind, payload, options, of, (locks) => this.#checked(locks), this.#nowMs);
  }

  /** `E_INVALID_ARGUMENT`. */
  #checked(locks: readonly JobLock[]): readonly JobLock[] {
    const { settings } = this.#kernel;
    return this.#withPayloads(parseLocks(locks, (key) => profileOf(parseKey(key), settings)));
  }

  /** A lock on a worktree holds its files too, as it does when a client acquires it. Throws for a key of other files. */
  #withPayloads(locks: readonly JobLock[]): readonly JobLock[] {
    const keysOf = (some: readonly JobLock[]) => some.map(({ resource }) => parseKey(resource));
    this.#kernel.withPayloads(keysOf(locks));
    // mutant: job-payload: keysOf(locks.filter(({ mode }) => mode === "write")) → []
    const written = this.#kernel.withPayloads(keysOf(locks.filter(({ mode }) => mode === "write")));
    const added = written.filter((key) => !locks.some(({ resource }) => resource === key));
    return [...locks, ...added.map((resource) => ({ resource, mode: "write" as const }))];
  }

  get #nowMs(): number {
    return this.#kernel.clock().wallMs;
  }

  /** `E_NOT_FOUND`. */
  async get(id: number): Promise<JobRecord> {
    return found(id, await this.#look(() => jobNumbered(id)));
  }

  async list(page: JobPage = {}): Promise<JobRecord[]> {
    const parsed = parsePage(page);
    return this.#look(() => listJobs(parsed));
  }

  /** What goes on just now, project by project, or in one of them. `E_INVALID_ARGUMENT`. */
  async lanes(options: { readonly project?: string } = {}): Promise<Lanes> {
    checkOptions(options, LANES);
    const { project } = options;
    const only = project === undefined ? undefined : parseName(project, "project");
    return this.#look(() => lanesNow(only));
  }

  /** The job when it is over. `E_LOCK_TIMEOUT` after `timeoutMs`; the signal's reason when it aborts. */
  async wait(id: number, options: WaitOptions = {}): Promise<JobRecord> {
    checkOptions(options, WAIT);
    const { timeoutMs, signal, onProgress } = options;
    const until = performance.now() + (timeoutMs ?? Number.POSITIVE_INFINITY);
    for (;;) {
      const job = await this.get(id);
      onProgress?.(job);
      if (OVER.has(job.state)) return job;
      if (performance.now() > until)
        throw new HoldfastError("E_LOCK_TIMEOUT", `job ${id} is still ${job.state}`, { details: { job } });
      await sleep(LOOK_EVERY_MS, signal);
    }
  }

  /** A job that has not begun is over; one that runs is told. `E_NOT_FOUND`. */
  async cancel(id: number): Promise<JobRecord> {
    return found(id, await this.#run(() => cancel(id, this.#kernel.requester)));
  }

  /** One that failed or was cancelled begins anew. `E_NOT_FOUND`. */
  async retry(id: number): Promise<JobRecord> {
    return found(id, await this.#run(() => retryJob(id, this.#kernel.requester)));
  }

  async caps(): Promise<Required<Caps>> {
    return this.#look(() => capsNow());
  }

  async setCaps(caps: Caps): Promise<void> {
    parseCaps(caps);
    await this.#run(() => setCaps(caps, this.#kernel.requester));
  }

  async setProject(project: string, settings: ProjectSettings): Promise<Project> {
    parseProjectSettings(project, settings);
    return this.#run(() => setProject(project, settings, this.#kernel.requester));
  }

  /** How long jobs are kept when they are over, in milliseconds; null is for good. */
  async keep(): Promise<Readonly<Record<EndState, number | null>>> {
    return this.#look(() => keepNow());
  }

  async setKeep(keep: Keep): Promise<void> {
    const parsed = parseKeep(keep);
    await this.#run(() => setKeep(parsed, this.#kernel.requester));
  }

  /** Begins to run jobs of the defined kinds, until it is stopped. */
  work(options: WorkerOptions = {}): Worker {
    return startWorker(this.#kernel, this.#scripts, this.#kinds, options);
  }

  #look<T>(script: () => Script<T>): Promise<T> {
    return this.#scripts.look(script);
  }

  #run<T>(script: () => Script<T>): Promise<T> {
    return this.#scripts.run(script, { durable: true });
  }
}

function found(id: number, job: JobRecord | null): JobRecord {
  if (job !== null) return job;
  throw new HoldfastError("E_NOT_FOUND", `there is no job ${id}`, {
    details: { job: id },
    next: ["holdfast job list"],
  });
}
