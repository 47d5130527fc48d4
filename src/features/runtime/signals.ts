/**
 * Passes the signals that the runner receives on to its command. Until there is a command, a signal that would end a
 * process ends the wait; from then on signals are passed on, and none of them ends the runner: the command decides, and
 * the runner ends after it.
 *
 * On a terminal the command is in the runner's own group, so both receive the signals of the terminal's keys. Such a signal
 * is not passed on a second time, because some programs treat a second Ctrl-C differently. The signals that stop and
 * continue a process are always passed on, because receiving them twice does no harm, and the runner stops with its
 * command so that the shell notices.
 * Without a terminal the runner stays awake while its command is stopped, and keeps the lease.
 */

import type { CommandProcesses } from "../../platform/process/command-processes.js";
import { terminalPlace } from "../../platform/process/process-table.js";

/** Somebody ended the run before its command was started. */
export class StoppedBySignal extends Error {
  readonly signal: NodeJS.Signals;

  constructor(signal: NodeJS.Signals) {
    super(`stopped by ${signal}`);
    this.signal = signal;
  }
}

const ENDING: readonly NodeJS.Signals[] = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"];
/** What is sent to a process, and not to all that belongs to it: by default it would end those who do not expect it. */
const TO_COMMAND: readonly NodeJS.Signals[] = ["SIGUSR1", "SIGUSR2"];
const FROM_KEYS: readonly NodeJS.Signals[] = ["SIGINT", "SIGQUIT", "SIGWINCH"];
const PASSED: readonly NodeJS.Signals[] = [...ENDING, ...TO_COMMAND, "SIGWINCH", "SIGCONT", "SIGTSTP"];

export interface SignalDesk {
  /** Aborts with `StoppedBySignal` when a signal ends the run before there is a command. */
  readonly stopped: AbortSignal;
  /** From now on signals go to this command. One that came a moment too early goes there first. */
  passTo(command: CommandProcesses): void;
  close(): void;
}

export function openSignalDesk(): SignalDesk {
  const stop = new AbortController();
  let command: CommandProcesses | null = null;
  const receive = (signal: NodeJS.Signals): void => {
    if (command !== null) passOn(signal, command);
    else if (ENDING.includes(signal)) stop.abort(new StoppedBySignal(signal));
    if (signal === "SIGTSTP" && command?.hasOwnGroup !== true) stopSelf();
    if (signal === "SIGCONT") process.off("SIGTSTP", receive).on("SIGTSTP", receive);
  };
  /** As if nobody had listened: the shell is to see why it stopped. */
  const stopSelf = (): void => {
    process.off("SIGTSTP", receive);
    process.kill(process.pid, "SIGTSTP");
  };
  for (const signal of PASSED) process.on(signal, receive);
  return {
    stopped: stop.signal,
    passTo(started) {
      command = started;
      const early: unknown = stop.signal.reason;
      if (early instanceof StoppedBySignal) command.signalGroup(early.signal);
    },
    close() {
      for (const signal of PASSED) process.off(signal, receive);
    },
  };
}

function passOn(signal: NodeJS.Signals, command: CommandProcesses): void {
  if (TO_COMMAND.includes(signal)) command.signalCommand(signal);
  else if (command.hasOwnGroup) command.signalGroup(signal === "SIGTSTP" ? STOP_WITHOUT_TERMINAL : signal);
  else if (!FROM_KEYS.includes(signal) || !terminalPlace().isForeground) command.signalGroup(signal);
}

/** In a session without a terminal the polite signal is ignored by the system. */
const STOP_WITHOUT_TERMINAL = "SIGSTOP";
