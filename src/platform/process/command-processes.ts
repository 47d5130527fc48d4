/**
 * Finds and ends the processes of a run: its command, and all processes that the command started.
 *
 * Away from a terminal the command gets a session, and with it a process group, of its own: one call signals all of it,
 * and no other process is in it. With a terminal that would cost too much: the terminal's keys do not reach a program in
 * another session, and it cannot open /dev/tty. So there the command stays in the group that the shell made for this job,
 * where Ctrl-C and Ctrl-Z find it, and its processes are recognized by what they inherited.
 *
 * Besides its group, every process belongs to a run that inherited the descriptor of its proof of life, wherever that
 * process went; the lock on the descriptor distinguishes it from a process that only reads the file. Only a process that
 * has left the group and closed the descriptors that it inherited is out of reach. (Where the system does not report which
 * process has which file open, leaving the group is enough.)
 *
 * The system can reuse a process id once its process was waited for, and the number of a group once the group is empty. So
 * a group whose leader has ended is signaled only when a process was just seen in it.
 */
import type { ChildProcess } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { exists, hasLocked, listYounger, ownGroup, type ProcessRow, wasStartedWith } from "./process-table.js";

/** How a command ended. */
export interface CommandEnd {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A proof of life that a command inherits: as long as one of its processes has it open, the command lives. */
export interface InheritedProof {
  /** For the command and no other process. */
  readonly descriptor: number;
  /** This command has it: this process closes its copy. */
  handOver(pid: number, hasOwnGroup: boolean): void;
  /** Whether a process that inherited it is left. */
  isInherited(): boolean;
}

/** What every process of a run has of it, unless it took pains to get rid of it. */
export interface Heritage {
  readonly proof: InheritedProof | null;
  /** The file of the proof, as the system names it. */
  readonly proofPath: string | null;
  /** `NAME=VALUE` in the environment. */
  readonly variable: string;
}

const LOOK_AGAIN_MS = 10;
const LINGER_LOOK_MS = 50;
/** How long to look for somebody who has the proof open and is not to be seen. */
const SEARCH_MS = 1_000;

export class CommandProcesses {
  readonly ended: Promise<CommandEnd>;
  readonly hasOwnGroup: boolean;
  readonly #child: ChildProcess;
  readonly #pid: number;
  readonly #group: number;
  readonly #heritage: Heritage;

  constructor(child: ChildProcess & { readonly pid: number }, hasOwnGroup: boolean, heritage: Heritage) {
    this.#child = child;
    this.#pid = child.pid;
    this.hasOwnGroup = hasOwnGroup;
    this.#group = hasOwnGroup ? child.pid : ownGroup();
    this.#heritage = heritage;
    this.ended = new Promise((resolve) => {
      child.once("exit", (exitCode, signal) => resolve({ exitCode, signal }));
    });
  }

  /** To the command alone. */
  signalCommand(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** To the whole group. */
  signalGroup(signal: NodeJS.Signals): void {
    if (!this.hasOwnGroup) for (const { pid } of this.#inGroup()) send(pid, signal);
    else if (this.#isRunning || this.#inGroup().length > 0) send(-this.#group, signal);
  }

  /** Whether anything of the run is left. */
  areLeft(): boolean {
    return this.#isRunning || this.#heritage.proof?.isInherited() === true || this.#inGroup().length > 0;
  }

  /** Until nothing of the run is left, or the signal aborts. */
  async untilGone(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && this.areLeft()) await sleep(LINGER_LOOK_MS);
  }

  /**
   * Ends whatever is left: SIGTERM, and when `graceMs` has gone by SIGKILL. The grace is asked for again and again, so that
   * it may shrink meanwhile. False when somebody who keeps the proof could not be found.
   */
  async end(graceMs: () => number): Promise<boolean> {
    // mutant: run-leftovers: if (!this.areLeft()) return true; → if (!this.#isRunning) return true;
    if (!this.areLeft()) return true;
    const startedAt = performance.now();
    this.signalGroup("SIGTERM");
    for (const { pid } of this.#elsewhere()) if (wasStartedWith(pid, this.#heritage.variable)) send(pid, "SIGTERM");
    this.signalGroup("SIGCONT"); // What is stopped cannot end.
    while (this.areLeft()) {
      // mutant: run-group-ends: return this.#kill(); → return this.#kill !== undefined;
      if (performance.now() - startedAt >= graceMs()) return this.#kill();
      await sleep(LOOK_AGAIN_MS);
    }
    return true;
  }

  async #kill(): Promise<boolean> {
    for (let lastSeen = performance.now(); this.areLeft(); await sleep(LOOK_AGAIN_MS)) {
      const elsewhere = this.#elsewhere();
      if (this.#isRunning || elsewhere.length > 0 || this.#inGroup().length > 0) lastSeen = performance.now();
      if (performance.now() - lastSeen > SEARCH_MS) return false;
      this.signalGroup("SIGKILL");
      if (!this.hasOwnGroup && this.#isRunning) this.signalCommand("SIGKILL");
      for (const { pid } of elsewhere) send(pid, "SIGKILL");
    }
    return true;
  }

  get #isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Of the run and in its group. In a group that is shared with others, those who inherited something of the run. */
  #inGroup(): ProcessRow[] {
    if (this.hasOwnGroup && !exists(-this.#group)) return [];
    const rows = listYounger();
    const group = rows.filter((row) => row.group === this.#group && !row.isZombie);
    if (this.hasOwnGroup) return group;
    const offspring = descendantsOf(this.#pid, rows);
    return group.filter(({ pid }) => offspring.has(pid) || this.#inherited(pid));
  }

  /** Of the run and in another group. */
  #elsewhere(): ProcessRow[] {
    const { proof, proofPath } = this.#heritage;
    if (proofPath === null || proof?.isInherited() !== true) return [];
    return listYounger().filter((row) => row.group !== this.#group && !row.isZombie && hasLocked(row.pid, proofPath));
  }

  #inherited(pid: number): boolean {
    const { proofPath, variable } = this.#heritage;
    return wasStartedWith(pid, variable) || (proofPath !== null && hasLocked(pid, proofPath));
  }
}

function descendantsOf(root: number, rows: readonly ProcessRow[]): ReadonlySet<number> {
  const found = new Set([root]);
  for (let before = 0; before < found.size; ) {
    before = found.size;
    for (const { pid, parent } of rows) if (found.has(parent)) found.add(pid);
  }
  return found;
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // Gone already, or another user's: whether anybody is left is looked at again.
  }
}
