/**
 * Runs a gate's command with a time limit. No guard and no lock is held in the meantime. When the time is up, or the caller
 * aborts, the whole process group ends. When the caller is killed, the watcher ends the group, and nothing is reported.
 */
import { runCommand } from "../../../platform/process/run-command.js";
import { type CommandLine, StartFailure } from "../../../platform/process/start-command.js";
import { type Guard, KILL_AFTER_MS } from "../../../platform/process/watch-group.js";
import { Keeper } from "../../../platform/process/watcher.js";

export interface CommandResult {
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly timedOut: boolean;
  readonly durationMs: number;
  readonly output: string;
}

export interface GateOptions {
  readonly timeoutMs: number;
  /** Ends it before its time; the promise then rejects with the signal's reason. */
  readonly signal: AbortSignal | undefined;
}

/** A command that cannot be started is a result as well: its output says why. */
export async function runGateCommand(line: CommandLine, options: GateOptions): Promise<CommandResult> {
  const { timeoutMs, signal: stop } = options;
  stop?.throwIfAborted();
  const startedAt = performance.now();
  // The command of a gate runs without a watcher where none can be started.
  const keeper = new Keeper(() => undefined);
  // mutant: gate-killed: keeper.start(); → keeper.close();
  keeper.start();
  const late = new AbortController();
  const limit = setTimeout(() => late.abort(), timeoutMs);
  const guard: Guard = {
    started: (begin) => keeper.started(timeoutMs + KILL_AFTER_MS, begin),
    over(pid) {
      // mutant: gate-in-time: clearTimeout(limit); // In time → void limit; // In time
      clearTimeout(limit); // In time, also when another process keeps its output open.
      keeper.drop(pid);
    },
  };
  try {
    // mutant: board-gate-signal: [late.signal, ...(stop === undefined ? [] : [stop])] → [late.signal]
    const signal = AbortSignal.any([late.signal, ...(stop === undefined ? [] : [stop])]);
    const end = await runCommand(line, signal, guard).catch(notStarted);
    stop?.throwIfAborted();
    return { ...end, timedOut: late.signal.aborted, durationMs: Math.round(performance.now() - startedAt) };
  } finally {
    clearTimeout(limit);
    keeper.close();
  }
}

function notStarted(error: unknown) {
  if (!(error instanceof StartFailure)) throw error;
  return { exitCode: null, signal: null, output: `${error.message}\n` };
}
