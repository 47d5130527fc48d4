/**
 * Reads the processes of this machine, as far as the system reports them: the members of a process group, and the
 * processes that have a file open. Where it does not, for want of a tool or a right, there is nothing to see: no error.
 */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { isatty } from "node:tty";
import { namesIn } from "../look-up.js";
import { startFromTicks } from "../machine.js";
import { runTool } from "../system-tool.js";

export interface ProcessRow {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  /** In ticks of the kernel's clock; 0 where the system does not tell so exactly. */
  readonly startedAt: number;
  /** It has ended, and only its parent has not asked how: it does nothing any more. */
  readonly isZombie: boolean;
}

/** What this process is to the terminal it was started from. */
export interface TerminalPlace {
  /** A terminal can send it signals, and stop it. */
  readonly hasTerminal: boolean;
  /** Its group is the one that the terminal's keys go to. */
  readonly isForeground: boolean;
}

const isLinux = process.platform === "linux";

/** Those that may have come after this process: only among them can be what it started. */
export function listYounger(): ProcessRow[] {
  const rows = isLinux ? listFromProc() : listFromPs();
  const own = rows.find((row) => row.pid === process.pid);
  return rows.filter((row) => row !== own && row.startedAt >= (own?.startedAt ?? 0));
}

/** Who is in the group, of those that the system lets us see. */
export function listGroup(group: number): ProcessRow[] {
  const rows = isLinux ? listFromProc() : listFromPs();
  return rows.filter((row) => row.group === group);
}

/** Whether there is a process with this id, or with a minus a group; one that has ended counts until it was asked how. */
export function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Null when there is none, and where the system does not tell so exactly. */
export function processAt(pid: number): ProcessRow | null {
  return isLinux ? rowOf(pid) : null;
}

function listFromProc(): ProcessRow[] {
  return namesIn("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => rowOf(Number(name)))
    .filter((row) => row !== null);
}

function rowOf(pid: number): ProcessRow | null {
  const stat = statOf(pid);
  const [state, parent, group] = stat;
  if (state === undefined) return null;
  const isZombie = state === "Z" || state === "X";
  return {
    pid,
    parent: Number(parent),
    group: Number(group),
    startedAt: Number(startFromTicks(stat[START_TIME] ?? "")),
    isZombie,
  };
}

function listFromPs(): ProcessRow[] {
  return runPs(["-A", "-o", "pid=,ppid=,pgid=,state="]).map((line) => {
    const [pid, parent, group, state = ""] = line.trim().split(/\s+/);
    const isZombie = state.startsWith("Z");
    return { pid: Number(pid), parent: Number(parent), group: Number(group), startedAt: 0, isZombie };
  });
}

const START_TIME = 19;

/** State, parent, group, session, terminal, foreground group of the terminal, and more; empty when there is no such process. */
function statOf(pid: number | string): string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ", START_TIME + 1);
  } catch {
    return [];
  }
}

/** The group of this process; 0 where it cannot be told. */
export function ownGroup(): number {
  return Number((isLinux ? statOf("self")[2] : runPs(["-o", "pgid=", "-p", String(process.pid)])[0]) ?? 0);
}

export function terminalPlace(): TerminalPlace {
  if (isLinux) {
    const [, , group, , terminal = "0", foreground] = statOf("self");
    return { hasTerminal: terminal !== "0", isForeground: terminal !== "0" && foreground === group };
  }
  const [line] = runPs(["-o", "pgid=,tpgid=", "-p", String(process.pid)]);
  if (line === undefined) return terminalByInput();
  const [group, foreground = "0"] = line.trim().split(/\s+/);
  return { hasTerminal: Number(foreground) > 0, isForeground: group === foreground };
}

/** A program that reads from a terminal is most likely in its foreground. */
function terminalByInput(): TerminalPlace {
  const hasTerminal = isatty(0);
  return { hasTerminal, isForeground: hasTerminal };
}

/**
 * Whether the process has this file open and locked, by itself or by whom it inherited the descriptor from; others open it
 * to look at it. False where the system does not tell, or not us.
 */
export function hasLocked(pid: number, path: string): boolean {
  if (!isLinux) return false;
  try {
    return readdirSync(`/proc/${pid}/fd`).some(
      (fd) =>
        // mutant: run-looked-at: /^lock:/m.test( → /^/m.test(
        linkOf(`/proc/${pid}/fd/${fd}`) === path && /^lock:/m.test(readFileSync(`/proc/${pid}/fdinfo/${fd}`, "latin1")),
    );
  } catch {
    return false;
  }
}

/** Whether the process was started with this in its environment. False where the system does not tell, or not us. */
export function wasStartedWith(pid: number, variable: string): boolean {
  if (!isLinux) return false;
  try {
    return `\0${readFileSync(`/proc/${pid}/environ`, "latin1")}`.includes(`\0${variable}\0`);
  } catch {
    return false;
  }
}

/** The file that a descriptor of this process is open on; null where the system does not tell. */
export function pathOf(descriptor: number): string | null {
  return isLinux ? linkOf(`/proc/self/fd/${descriptor}`) : null;
}

function linkOf(link: string): string | null {
  try {
    return readlinkSync(link);
  } catch {
    return null;
  }
}

function runPs(args: readonly string[]): string[] {
  return (runTool("ps", args) ?? "").split("\n").filter((line) => line.trim() !== "");
}
