/**
 * A few threads that work on batches of tasks and answer each with a batch of results. A small amount of work never
 * starts one: the caller does it alone. Each thread has at most one batch in work and one waiting, so memory stays as
 * it is.
 */
import { availableParallelism } from "node:os";
import { parentPort, Worker, workerData } from "node:worker_threads";
import { HoldfastError } from "../../base/errors.js";

const BATCH_JOBS = 64;
/** So many at most, when all of them are of one group. */
const GROUP_JOBS = 256;
const BATCH_BYTES = 4 << 20;
const AHEAD = 2;
const MOST_THREADS = 4;
/** A thread keeps next to nothing: what it throws away need not lie about for long. */
const LITTLE = { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 64 };

interface Failure {
  readonly code: "E_IO" | "E_STORE_CORRUPT";
  readonly message: string;
  readonly details: Record<string, unknown>;
  readonly next: readonly string[];
}

type ToThread<Job> = { readonly jobs: readonly Job[] } | { readonly finish: true };
type FromThread<Result> =
  | { readonly results: readonly Result[] }
  | { readonly finished: true }
  | { readonly failed: Failure };

/** The other side: what the module of a thread runs. */
export function serveThread<Setup, Job, Result>(
  open: (setup: Setup) => { readonly work: (job: Job) => Result; readonly finish: () => void },
): void {
  const { work, finish } = open(workerData as Setup);
  const say = (message: FromThread<Result>): void => parentPort?.postMessage(message);
  parentPort?.on("message", (message: ToThread<Job>) => {
    try {
      if ("jobs" in message) say({ results: message.jobs.map(work) });
      else {
        finish();
        say({ finished: true });
        parentPort?.close();
      }
    } catch (error) {
      const known = error instanceof HoldfastError ? error : new HoldfastError("E_IO", String(error));
      const code = known.code === "E_STORE_CORRUPT" ? known.code : "E_IO";
      say({ failed: { code, message: known.message, details: { ...known.details }, next: known.next } });
    }
  });
}

export interface Crew<Job> {
  readonly size: number;
  /** Null, or what to wait for before more is added. Jobs of one group go to one thread, as long as they are not too many. */
  add(job: Job, bytes: number, group?: string): Promise<void> | null;
  /** Until everything that was added is done. */
  drain(): Promise<void>;
  /** Each thread finishes, and ends. */
  finish(): Promise<void>;
  abandon(): Promise<void>;
}

interface Thread {
  readonly worker: Worker;
  batches: number;
}

/** `setup` is told which thread it is, from 1 on. Threads are started when there is work for them. */
export function createCrew<Setup extends object, Job, Result>(
  module: URL,
  setup: (thread: number) => Setup,
  most: number,
  onResult: (result: Result) => void,
): Crew<Job> {
  const crew: Thread[] = [];
  let batch: Job[] = [];
  let batchBytes = 0;
  let batchGroup: string | undefined;
  let failure: HoldfastError | null = null;
  let wake = (): void => undefined;
  const underWay = (): number => crew.reduce((sum, { batches }) => sum + batches, 0);
  const isFull = (): boolean => underWay() >= most * AHEAD;

  const start = (): void => {
    const worker = new Worker(module, { workerData: setup(crew.length + 1), execArgv: [], resourceLimits: LITTLE });
    const thread: Thread = { worker, batches: 0 };
    worker.on("message", (message: FromThread<Result>) => {
      if ("failed" in message) {
        const { code, message: text, ...rest } = message.failed;
        failure ??= new HoldfastError(code, text, rest);
      } else if ("results" in message) for (const result of message.results) onResult(result);
      thread.batches -= 1;
      wake();
    });
    worker.on("error", (error) => {
      failure ??= new HoldfastError("E_IO", `a thread ended: ${error.message}`, { cause: error });
      thread.batches = 0;
      wake();
    });
    crew.push(thread);
  };
  const until = async (isSo: () => boolean): Promise<void> => {
    while (!isSo() && failure === null)
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    if (failure !== null) throw failure;
  };
  const post = (thread: Thread | undefined, message: ToThread<Job>): void => {
    if (thread === undefined) return;
    thread.batches += 1;
    thread.worker.postMessage(message);
  };
  const send = (): void => {
    if (batch.length === 0) return;
    if (crew.length < most && crew.every(({ batches }) => batches > 0)) start();
    post([...crew].sort((a, b) => a.batches - b.batches)[0], { jobs: batch });
    batch = [];
    batchBytes = 0;
  };

  return {
    get size() {
      return crew.length;
    },
    add(job, bytes, group) {
      if (batch.length >= BATCH_JOBS && group !== batchGroup) send();
      batch.push(job);
      batchBytes += bytes;
      batchGroup = group;
      const mostJobs = group === undefined ? BATCH_JOBS : GROUP_JOBS;
      if (batch.length >= mostJobs || batchBytes >= BATCH_BYTES) send();
      return isFull() ? until(() => !isFull()) : null;
    },
    async drain() {
      send();
      await until(() => underWay() === 0);
    },
    async finish() {
      for (const thread of crew) post(thread, { finish: true });
      await until(() => underWay() === 0);
    },
    async abandon() {
      await Promise.all(crew.map(({ worker }) => worker.terminate()));
    },
  };
}

/** How many threads are good here, unless the caller said. */
export function threadCount(said: number | null): number {
  return said ?? Math.min(MOST_THREADS, availableParallelism());
}
