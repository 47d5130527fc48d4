/**
 * Tells whether this process has work under way beside waiting for locks, from what keeps its event loop alive and from the
 * processor time that it uses. A timer, a request to the system, a child process, a connection or a server may be a task
 * that goes on; the standard streams and the channel to a parent process are there in an idle program too. Node.js does not
 * show what its threads compute (`zlib`, `crypto`, a worker whose messages nothing listens for): that shows in the processor
 * time. Not seen is a worker thread that only waits, as long as the program does not listen for its messages.
 */
import { runningTimers } from "../base/shared-timer.js";

const STREAMS: ReadonlySet<string> = new Set(["PipeWrap", "TTYWrap"]);
const PARENT = "Pipe";
const TIMER = "Timeout";
/** A waiting process uses two hundredths of a core; one that computes, a tenth even when ten others compete for the core. */
const MOST_OF_A_CORE = 0.08;
const MEASURED_OVER_MS = 400;

export class OtherWork {
  #startedAt = performance.now();
  #used = process.cpuUsage();
  /** Unknown until it was measured once. */
  #computes = true;

  isUnderWay(): boolean {
    this.#measure();
    return this.#computes || hasOpenHandles();
  }

  #measure(): void {
    const elapsedMs = performance.now() - this.#startedAt;
    if (elapsedMs < MEASURED_OVER_MS) return;
    const { user, system } = process.cpuUsage(this.#used);
    // mutant: circle-thread-computes: > MOST_OF_A_CORE * elapsedMs → < 0
    this.#computes = (user + system) / 1_000 > MOST_OF_A_CORE * elapsedMs;
    this.#startedAt += elapsedMs;
    this.#used = process.cpuUsage();
  }
}

function hasOpenHandles(): boolean {
  const active = process.getActiveResourcesInfo();
  const timers = active.filter((each) => each === TIMER).length;
  const streams = active.filter((each) => STREAMS.has(each)).length;
  // mutant: circle-busy-process: timers > runningTimers() || → timers < 0 ||
  if (timers > runningTimers() || active.some((each) => each !== TIMER && each !== PARENT && !STREAMS.has(each)))
    return true;
  // mutant: circle-local-socket: streams > standardStreams() → streams < 0
  return streams > standardStreams();
}

/** A local socket has the same type as a standard stream that is a pipe. Zero where Node.js does not list the handles. */
function standardStreams(): number {
  const { _getActiveHandles: list } = process as { _getActiveHandles?: () => readonly { readonly fd?: unknown }[] };
  const handles = list?.call(process) ?? [];
  return handles.filter(({ fd }) => fd === 0 || fd === 1 || fd === 2).length;
}
