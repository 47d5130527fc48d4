/**
 * Passes the signals of a run's process on to its command, for which they are meant. Until there is a command, those
 * that end a process end the wait; from then on they are passed on, and none of them ends the runner: the command
 * decides, and the runner ends after it.
 *
 * On a terminal the command is in the runner's own group, so what the terminal sends for its keys both get. Such a signal
 * is not passed on a second time: some programs take the second Ctrl-C for more than the first. Stopping and going on
 * are passed on in any case, twice is as good as once, and the runner stops with its command so that the shell sees it.
 * Without a terminal the runner stays awake while its command is stopped, and keeps the lease.
 */

import { terminalPlace } from "../../platform/process/process-table.js";
import type { CommandProcesses } from "./command-processes.js";

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
