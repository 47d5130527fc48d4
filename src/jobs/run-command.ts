/**
 * A job that is a command: its own process group, ended whole when the run is over for whatever reason. The run is not
 * over before the group is: first SIGTERM, then SIGKILL, then it is settled, so that its locks never outlive its doings.
 *
 * When the worker itself is killed nobody ends the group. It goes on without a slot; what it commits with its lease token
 * is refused once its slot was taken back.
 */
import { type ChildProcess, spawn } from "node:child_process";
import type { BorrowedLease } from "../lease/borrowed-lease.js";
import type { JobRecord } from "./model.js";

const KEPT_CHARACTERS = 64 * 1024;
const KILL_AFTER_MS = 2_000;
/** Whoever left the group and still has its output open is not waited for any longer. */
const LAST_OUTPUT_MS = 1_000;

export interface CommandResult {
  /** Null when a signal ended it. */
  readonly exit_code: number | null;
  readonly signal: string | null;
  /** The end of what it printed. */
  readonly output: string;
}

/** It ended, but not with 0. */
export class CommandFailed extends Error {
  readonly result: CommandResult;

  constructor(program: string, result: CommandResult) {
    super(`${program} ended with ${result.signal ?? result.exit_code}: ${result.output.slice(-400).trim()}`);
    this.result = result;
  }
}

export interface CommandLocks {
  readonly lease: BorrowedLease;
  readonly token: string;
}

/** Rejects when it could not be started, was ended by a signal, or its exit code is not 0. */
export function runCommand(
  { command, id }: JobRecord,
  locks: CommandLocks | null,
  signal: AbortSignal,
): Promise<CommandResult> {
  const [program = "", ...args] = command ?? [];
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
      env: environmentOf(id, locks),
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (part: string) => {
        output = (output + part).slice(-KEPT_CHARACTERS);
      });
    let killing: NodeJS.Timeout | undefined;
    const stop = (): void => {
      endGroup(child, "SIGTERM");
      killing = setTimeout(() => endGroup(child, "SIGKILL"), KILL_AFTER_MS);
    };
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });

    const isOver = (): void => {
      clearTimeout(killing);
      signal.removeEventListener("abort", stop);
    };
    child.once("error", (error) => {
      isOver();
      reject(error);
    });
    child.once("exit", (exitCode, killedBy) => {
      isOver();
      endGroup(child, "SIGKILL");
      const settle = (): void => {
        clearTimeout(late);
        const result = { exit_code: exitCode, signal: killedBy, output };
        if (exitCode === 0) resolve(result);
        else reject(new CommandFailed(program, result));
      };
      // Behind the immediate: a worker that slept meanwhile reads what is there before it gives up.
      const late = setTimeout(() => setImmediate(settle), LAST_OUTPUT_MS);
      child.once("close", settle);
    });
  });
}

function environmentOf(job: number, locks: CommandLocks | null): NodeJS.ProcessEnv {
  const { HOLDFAST_OUTER: _, HOLDFAST_RESOURCE: __, HOLDFAST_LEASE_TOKEN: ___, ...env } = process.env;
  if (locks === null) return { ...env, HOLDFAST_JOB: String(job) };
  return {
    ...env,
    HOLDFAST_JOB: String(job),
    HOLDFAST_RESOURCE: locks.lease.keys.join(" "),
    HOLDFAST_FENCING_TOKEN: locks.lease.fencingTokens.join(" "),
    HOLDFAST_LEASE_TOKEN: locks.token,
  };
}

function endGroup({ pid }: ChildProcess, how: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, how);
  } catch {
    // Nobody of it is left.
  }
}
