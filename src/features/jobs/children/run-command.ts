/**
 * Runs a job that is a command, with the keys and tokens of its locks in its environment. The run is not over before the
 * process group of the command is: then it is settled, so that its work never outlives its locks.
 */
import type { BorrowedLease } from "../../../client/lease/borrowed-lease.js";
import { runCommand } from "../../../platform/process/run-command.js";
import { StartFailure } from "../../../platform/process/start-command.js";
import type { Guard } from "../../../platform/process/watch-group.js";
import type { JobRecord } from "../model.js";
import { jobEnvironment } from "./job-environment.js";

export interface CommandResult {
  /** Null when a signal ended it. */
  readonly exit_code: number | null;
  readonly signal: string | null;
  /** The beginning and the end of its output. */
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

/** Throws a coded error when the command cannot be started, and `CommandFailed` when a signal ended it or its exit code is not 0. */
export async function runJobCommand(
  { command, id }: JobRecord,
  locks: CommandLocks | null,
  signal: AbortSignal,
  guard: Guard,
  env: NodeJS.ProcessEnv,
): Promise<CommandResult> {
  const [program = "", ...args] = command ?? [];
  const environment = { ...jobEnvironment(env, id), ...environmentOf(locks) };
  const line = { program, args, env: environment };
  const end = await runCommand(line, signal, guard).catch((error: unknown) => {
    throw error instanceof StartFailure ? error.error : error;
  });
  const { exitCode, signal: killedBy, output } = end;
  const result = { exit_code: exitCode, signal: killedBy, output };
  if (exitCode !== 0) throw new CommandFailed(program, result);
  return result;
}

function environmentOf(locks: CommandLocks | null): NodeJS.ProcessEnv {
  if (locks === null) return {};
  return {
    HOLDFAST_RESOURCE: locks.lease.keys.join(" "),
    HOLDFAST_FENCING_TOKEN: locks.lease.fencingTokens.join(" "),
    HOLDFAST_LEASE_TOKEN: locks.token,
  };
}
