/** A child with a process group of its own, told to end and then ended whole. */
import type { ChildProcess } from "node:child_process";
import { signalGroup } from "../../support/signal-group.js";

const KILL_AFTER_MS = 2_000;

/** Puts a group under the keeper's eye, and gives what takes it out again. */
export type Guard = (pid: number) => () => void;

/**
 * Until the child has ended its group is guarded. When the signal aborts it is asked to end, and killed when that takes too
 * long. Whoever of the group is left when the child has ended is killed: a run's doings end with it.
 */
export function watchGroup(child: ChildProcess, signal: AbortSignal, guard: Guard, askToEnd: () => void): void {
  const unguard = child.pid === undefined ? () => undefined : guard(child.pid);
  let killing: NodeJS.Timeout | undefined;
  const stop = (): void => {
    askToEnd();
    killing = setTimeout(() => signalGroup(child, "SIGKILL"), KILL_AFTER_MS);
  };
  const isOver = (): void => {
    clearTimeout(killing);
    signal.removeEventListener("abort", stop);
    signalGroup(child, "SIGKILL");
    unguard();
  };
  child.once("exit", isOver);
  child.once("error", () => {
    if (child.pid === undefined) isOver();
  });
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
}
