/** Sends signals to the process group of a child. */
import type { ChildProcess } from "node:child_process";

/** To everybody in the process group that was made for this child. */
export function signalGroup({ pid }: Pick<ChildProcess, "pid">, how: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, how);
  } catch {
    // Nobody of it is left.
  }
}
