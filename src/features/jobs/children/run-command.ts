/**
 * Runs a job that is a command: in a process group of its own, ended whole when the run is over for whatever reason.
 * The run is not over before the group is: first SIGTERM, then SIGKILL, then it is settled, so that its work never
 * outlives its locks. When the worker is killed or frozen, the watcher ends the group.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { Socket } from "node:net";
import type { BorrowedLease } from "../../../client/lease/borrowed-lease.js";
import { signalGroup } from "../../../platform/process/signal-group.js";
import { type Guard, watchGroup } from "../../../platform/process/watch-group.js";
import type { JobRecord } from "../model.js";
import { jobEnvironment } from "./job-environment.js";

const KEPT_CHARACTERS = 64 * 1024;
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
    const said = result.output.slice(-400).trim();
    super(`${program} ended with ${result.signal ?? result.exit_code}${said === "" ? "" : `: ${said}`}`);
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
  guard: Guard,
  env: NodeJS.ProcessEnv,
): Promise<CommandResult> {
  const [program = "", ...args] = command ?? [];
  return new Promise((resolve, reject) => {
    const child = guard.started((mark) =>
      spawn(program, args, {
        stdio: ["ignore", "pipe", "pipe"],
        detached: true,
        env: { ...environmentOf(jobEnvironment(env, id), locks), ...mark },
      }),
    );
    child.once("error", reject);
    let output = "";
    const streams = outputOf(child);
    for (const stream of streams)
      stream.setEncoding("utf8").on("data", (part: string) => {
        output = (output + part).slice(-KEPT_CHARACTERS);
      });
    watchGroup(child, signal, guard, () => signalGroup(child, "SIGTERM"));
    child.once("exit", (exitCode, killedBy) => {
      const settle = (): void => {
        clearTimeout(late);
        const result = { exit_code: exitCode, signal: killedBy, output };
        if (exitCode === 0) resolve(result);
        else reject(new CommandFailed(program, result));
      };
      const giveUp = (): void => {
        // It may go on printing, but keeps no worker from ending.
        // mutant: job-output-left-open: for (const stream of streams) stream.unref(); →
        for (const stream of streams) stream.unref();
        settle();
      };
      // Behind the immediate: a worker that slept meanwhile reads what is there before it gives up.
      const late = setTimeout(() => setImmediate(giveUp), LAST_OUTPUT_MS);
      child.once("close", settle);
    });
  });
}

/** None when there was no descriptor left to start it with. A pipe from a child is a socket. */
function outputOf({ stdout, stderr }: ChildProcess): Socket[] {
  // mutant: job-no-descriptors: , stderr].filter((stream) => stream instanceof Socket); → , stderr] as Socket[];
  return [stdout, stderr].filter((stream) => stream instanceof Socket);
}

function environmentOf(env: NodeJS.ProcessEnv, locks: CommandLocks | null): NodeJS.ProcessEnv {
  if (locks === null) return env;
  return {
    ...env,
    HOLDFAST_RESOURCE: locks.lease.keys.join(" "),
    HOLDFAST_FENCING_TOKEN: locks.lease.fencingTokens.join(" "),
    HOLDFAST_LEASE_TOKEN: locks.token,
  };
}
