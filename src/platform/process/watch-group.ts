/**
 * Watches a child process that has a process group of its own: requests its end when the run is aborted, and kills the
 * group when that takes too long or when the child has ended.
 */
import type { ChildProcess } from "node:child_process";
import { signalGroup } from "./signal-group.js";

/** From SIGTERM, or another request to end, to SIGKILL. */
export const KILL_AFTER_MS = 2_000;

/** Ends a group when this process cannot. */
export interface Guard {
  /** Starts a child, with these variables in its environment. */
  started<Child extends ChildProcess>(begin: (mark: NodeJS.ProcessEnv) => Child): Child;
  over(pid: number, killedBy: NodeJS.Signals | null): void;
}

/**
 * Guards the group until the child has ended. When the signal aborts, `askToEnd` is called, and the group is killed when
 * that takes too long. Processes of the group that are left when the child has ended are killed: a run ends whole.
 */
export function watchGroup(child: ChildProcess, signal: AbortSignal, guard: Guard, askToEnd: () => void): void {
  let killing: NodeJS.Timeout | undefined;
  const stop = (): void => {
    askToEnd();
    killing = setTimeout(() => signalGroup(child, "SIGKILL"), KILL_AFTER_MS);
  };
  const isOver = (killedBy: NodeJS.Signals | null): void => {
    clearTimeout(killing);
    signal.removeEventListener("abort", stop);
    // mutant: job-group: signalGroup(child, "SIGKILL"); →
    signalGroup(child, "SIGKILL");
    if (child.pid !== undefined) guard.over(child.pid, killedBy);
  };
  child.once("exit", (_code, killedBy) => isOver(killedBy));
  child.once("error", () => {
    if (child.pid === undefined) isOver(null);
  });
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
}
