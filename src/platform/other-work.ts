/**
 * Tells whether this process has work under way beside waiting for locks, from what keeps its event loop alive. A timer, a
 * request to the system, a child process, a connection or a server may be a task that goes on; the standard streams and the
 * channel to a parent process are there in an idle program too.
 */
import { runningTimers } from "../base/shared-timer.js";

const IDLE: ReadonlySet<string> = new Set(["PipeWrap", "Pipe", "TTYWrap"]);
const TIMER = "Timeout";

export function hasOtherWork(): boolean {
  const active = process.getActiveResourcesInfo();
  const timers = active.filter((each) => each === TIMER).length;
  // mutant: circle-busy-process: timers > runningTimers() || → timers < 0 ||
  return timers > runningTimers() || active.some((each) => each !== TIMER && !IDLE.has(each));
}
