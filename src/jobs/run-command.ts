/** A job that is a command: its own process group, ended whole when the run is over for whatever reason. */
import { spawn } from "node:child_process";
import type { JobRecord } from "./model.js";

const KEPT_BYTES = 64 * 1024;
const KILL_AFTER_MS = 2_000;

export interface CommandResult {
  readonly exit_code: number;
  /** The end of what it printed. */
  readonly output: string;
}

/** Rejects when it could not be started, was ended by a signal, or its exit code is not 0. */
export function runCommand({ command, id }: JobRecord, signal: AbortSignal): Promise<CommandResult> {
  const [program = "", ...args] = command ?? [];
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
      env: { ...process.env, HOLDFAST_JOB: String(id) },
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (part: Buffer) => {
        output = (output + part.toString()).slice(-KEPT_BYTES);
      });
    const endGroup = (how: NodeJS.Signals): void => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, how);
      } catch {
        // Nobody of it is left.
      }
    };
    const stop = (): void => {
      endGroup("SIGTERM");
      setTimeout(() => endGroup("SIGKILL"), KILL_AFTER_MS).unref();
    };
    signal.addEventListener("abort", stop, { once: true });
    child.once("error", reject);
    child.once("close", (code, killedBy) => {
      signal.removeEventListener("abort", stop);
      endGroup("SIGKILL");
      if (code === 0) resolve({ exit_code: 0, output });
      else reject(new Error(`${program} ended with ${killedBy ?? code}: ${output.slice(-400).trim()}`));
    });
  });
}
