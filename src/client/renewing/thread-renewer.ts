/**
 * The renewer thread, as the main thread uses it. The thread is started with the first lease, because a program may
 * block from the very next instruction on, and gets leases through shared memory (heartbeat-table.ts); what does not
 * fit a slot follows in a message. Only leases beyond the number of slots are left to a renewer in the event loop.
 */
import { Worker } from "node:worker_threads";
import type { ErrorCode } from "../../base/errors.js";
import { HoldfastError } from "../../base/errors.js";
import type { Clock } from "../../platform/clock.js";
import type { Store } from "../../store/contract.js";
import { BeatTable, SLOT_TEXT_BYTES, SLOTS, type Slot, toText } from "./heartbeat-table.js";
import { type Beating, type Heart, lookEveryMs, type Pulse, type Rhythm, showEveryMs } from "./renewer.js";

/** The thread sleeps once nothing was held for this long. */
const IDLE_AFTER_MS = 5_000;

export interface HeartThreadSetup {
  readonly storeUrl: string;
  /** The thread opens this store, or none. */
  readonly storeId: string;
  readonly memory: SharedArrayBuffer;
  readonly rhythm: Rhythm;
}

export type HeartMessage =
  | { readonly kind: "idle" }
  | {
      readonly kind: "lost";
      readonly index: number;
      readonly generation: number;
      readonly code: ErrorCode;
      readonly message: string;
      readonly details: Readonly<Record<string, unknown>>;
    }
  | { readonly kind: "suspect"; readonly index: number; readonly generation: number; readonly isSuspect: boolean };

interface Kept {
  readonly pulse: Pulse;
  /** Set when the thread is gone. */
  elsewhere: Beating | null;
}

/** What the main thread tells the heart thread. */
export type HeartOrder = "rest" | "end" | { readonly lookEveryMs: number } | LongText | HeartThreadSetup;

export interface LongText {
  readonly slot: Slot;
  readonly text: string;
}

export function createThreadHeart(
  { url: storeUrl, id: storeId }: Pick<Store, "url" | "id">,
  clock: Clock,
  rhythm: Rhythm,
  overflow: Heart,
): Heart {
  const table = new BeatTable();
  const kept: (Kept | undefined)[] = [];
  const freeSlots: number[] = Array.from({ length: SLOTS }, (_, at) => SLOTS - 1 - at);
  let worker: Worker | undefined;
  let progress: NodeJS.Timeout | undefined;
  let count = 0;
  let hasFailed = false;
  let lastHeldAt = 0;
  /** How often the thread looks, as far as it was told. */
  let looksEveryMs = Number.POSITIVE_INFINITY;

  const order = (what: HeartOrder): void => worker?.postMessage(what);
  const start = (): void => {
    if (worker === undefined) {
      const workerData: HeartThreadSetup = { storeUrl, storeId, memory: table.memory, rhythm };
      worker = idle.pop();
      if (worker !== undefined) order(workerData);
      else
        try {
          worker = startThread(workerData);
        } catch (error) {
          // For want of threads, perhaps.
          fail(error);
          return;
        }
      worker.on("message", hear);
      worker.on("error", fail);
      // Behind the listeners: one for messages makes the program wait for the thread again.
      // mutant: heart-keeps-program: worker.unref(); →
      worker.unref();
      leaveInPeace(table);
    }
    progress = setInterval(showProgress, showEveryMs(rhythm));
    progress.unref();
  };
  const showProgress = (): void => {
    const now = clock().bootMs;
    table.progress = now;
    if (count > 0) lastHeldAt = now;
    else if (now - lastHeldAt > IDLE_AFTER_MS) rest();
  };
  const rest = (): void => {
    clearInterval(progress);
    progress = undefined;
    looksEveryMs = Number.POSITIVE_INFINITY;
    order("rest");
  };
  /** Told once for the shortest lease so far: a message costs as much as a lock. */
  const lookFor = (leaseMs: number): void => {
    const everyMs = lookEveryMs(leaseMs, rhythm);
    if (everyMs >= looksEveryMs) return;
    looksEveryMs = everyMs;
    order({ lookEveryMs: everyMs });
  };
  const hear = (message: HeartMessage): void => {
    if (message.kind === "idle") return;
    const pulse = kept[message.index]?.pulse;
    if (pulse === undefined || table.slotAt(message.index).generation !== message.generation) return;
    if (message.kind === "suspect") pulse.onSuspect(message.isSuspect);
    else pulse.onLost(HoldfastError.again(message));
  };

  /** The thread could not start or broke down: what it kept goes on beating in the event loop. */
  const fail = (error: unknown): void => {
    hasFailed = true;
    // mutant: heart-in-the-loop: warn(error); → void warn;
    warn(error);
    clearInterval(progress);
    for (const [index, lease] of kept.entries())
      if (lease !== undefined) lease.elsewhere = overflow.keep({ ...lease.pulse, ...table.beatOf(index) });
  };

  const isThere = (): boolean => {
    if (hasFailed) return false;
    // A program that never pauses between its locks lets no timer run, and still makes progress.
    // mutant: heart-awake: lastHeldAt = table.progress = clock().bootMs → table.progress = clock().bootMs
    lastHeldAt = table.progress = clock().bootMs;
    if (progress === undefined) start();
    return !hasFailed;
  };

  return {
    keep(pulse): Beating {
      const text = toText(pulse.grants);
      const index = isThere() ? freeSlots.pop() : undefined;
      if (index === undefined) return overflow.keep(pulse);
      lookFor(Math.min(pulse.leaseMs, pulse.renewToMs));
      const isLong = text.length > SLOT_TEXT_BYTES;
      const slot = table.fill(index, isLong ? "" : text, pulse);
      if (isLong) order({ slot, text });
      const lease: Kept = { pulse, elsewhere: null };
      kept[index] = lease;
      count += 1;
      let stopped = false;
      return {
        since: () => lease.elsewhere?.since() ?? table.sinceOf(index),
        leaseMs: () => lease.elsewhere?.leaseMs() ?? table.leaseMsOf(index),
        renewing: (leaseMs) => {
          lease.elsewhere?.renewing(leaseMs);
          if (!stopped) table.renewing(index, leaseMs);
          lookFor(leaseMs);
        },
        renewed: (since, leaseMs) => {
          lease.elsewhere?.renewed(since, leaseMs);
          if (!stopped) table.renewed(index, since, leaseMs);
          lookFor(leaseMs);
        },
        stop() {
          if (stopped) return;
          stopped = true;
          lease.elsewhere?.stop();
          table.free(slot);
          kept[index] = undefined;
          freeSlots.push(index);
          count -= 1;
        },
      };
    },
    async close() {
      clearInterval(progress);
      await overflow.close();
      table.isEnding = true;
      beating.delete(table);
      if (worker === undefined || hasFailed) return;
      const hasEnded = await untilIdle(worker);
      worker.off("message", hear).off("error", fail).unref();
      // mutant: dead-heart-thread: if (!hasEnded) idle.push(worker); → idle.push(worker);
      if (!hasEnded) idle.push(worker);
    },
  };
}

const THREAD = new URL("./renewer.thread.js", import.meta.url);

/**
 * Threads whose heart was closed wait here for the next one. None is ended before the process is: in tearing a thread
 * down Node may close a file number twice, and the second time it can be the guard that another thread has just opened.
 */
const idle: Worker[] = [];

function startThread(workerData: HeartThreadSetup): Worker {
  // A program that came by --eval or a pipe may have been given its type, and no file is run under that.
  const execArgv = process.execArgv.some((option) => option.startsWith("--input-type")) ? { execArgv: [] } : {};
  const worker = new Worker(THREAD, { workerData, stdout: false, stderr: false, ...execArgv });
  const forget = (): void => {
    if (idle.includes(worker)) idle.splice(idle.indexOf(worker), 1);
  };
  return worker.on("error", forget).on("exit", forget);
}

/** Beside the sources, which a test runs, there is never a thread. */
const HAS_THREAD = !import.meta.url.endsWith(".ts");
let hasWarned = false;

function warn(error: unknown): void {
  if (hasWarned || !HAS_THREAD) return;
  hasWarned = true;
  process.emitWarning("leases are renewed from the event loop, and lost when it is blocked for longer than they last", {
    type: "HoldfastWarning",
    code: "HOLDFAST_NO_HEART_THREAD",
    detail: `The heart thread failed: ${error instanceof Error ? error.message : String(error)}`,
  });
}

/** True when the thread has ended instead: it could not start, or broke down. */
async function untilIdle(worker: Worker): Promise<boolean> {
  worker.ref();
  return await new Promise<boolean>((resolve) => {
    const hear = (message: HeartMessage): void => {
      if (message.kind === "idle") done(false);
    };
    const exit = (): void => done(true);
    const done = (hasEnded: boolean): void => {
      worker.off("message", hear).off("exit", exit);
      resolve(hasEnded);
    };
    worker.on("message", hear).on("exit", exit);
    worker.postMessage("end" satisfies HeartOrder);
  });
}

/** Longer than a step takes, shorter than anybody notices. */
const LAST_STEP_MS = 200;
const beating = new Set<BeatTable>();
let isListening = false;

/**
 * A program that just exits tears its threads out, and a driver that wants to report an error at that moment takes the
 * process down with it, exit code and all. So it waits for the step at hand.
 */
function leaveInPeace(table: BeatTable): void {
  if (!isListening) process.on("exit", waitForLastSteps);
  isListening = true;
  beating.add(table);
}

function waitForLastSteps(): void {
  for (const table of beating) table.isEnding = true;
  for (const table of beating) table.waitForStep(LAST_STEP_MS);
}
