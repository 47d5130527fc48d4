/** A child process with a process group of its own, which is told to end and then ended whole. */
import type { ChildProcess } from "node:child_process";
import { signalGroup } from "../../../platform/process/signal-group.js";

const KILL_AFTER_MS = 2_000;

/** Whoever ends a group when this process cannot. */
export interface Guard {
  /** Starts a child, with these variables in its environment. */
  started<Child extends ChildProcess>(begin: (mark: NodeJS.ProcessEnv) => Child): Child;
  over(pid: number, killedBy: NodeJS.Signals | null): void;
}

/**
 * Until the child has ended its group is guarded, as it has been since its start. When the signal aborts it is asked to end, and killed when that takes too
 * long. Whoever of the group is left when the child has ended is killed: a run's doings end with it.
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
