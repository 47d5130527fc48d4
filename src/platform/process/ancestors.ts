/** Returns the ancestors of this process, the nearest first; none where the system does not report them. */
import { readFileSync } from "node:fs";
import { startFromDate, startFromTicks } from "../machine.js";
import { runTool } from "../system-tool.js";

/** A process among all that ever had its id. */
export interface ProcessMark {
  readonly pid: number;
  /** As of `startTimeOf`. */
  readonly startTime: string;
}

const FARTHEST = 40;

interface Told {
  readonly parent: number;
  readonly startTime: string;
}

/** Without the first process of the system, which everything descends from. */
export function ancestorsOfThis(): readonly ProcessMark[] {
  return chainFrom(process.ppid);
}

/** A process and those it descends from. */
export function chainFrom(first: number): readonly ProcessMark[] {
  const look = process.platform === "linux" ? lookIntoProc : lookIntoTable(readTable("pid=,ppid=,lstart="));
  const found: ProcessMark[] = [];
  for (let pid = first; pid > 1 && found.length < FARTHEST; ) {
    const told = look(pid);
    if (told === null) break;
    found.push({ pid, startTime: told.startTime });
    pid = told.parent;
  }
  return found;
}

/** The words a process was started with, separated by blanks; empty when nobody tells. */
export function commandLineOf(pid: number): string {
  if (process.platform !== "linux") return readTable("command=", pid).trim();
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
  } catch {
    return "";
  }
}

function lookIntoProc(pid: number): Told | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ", 20);
    return { parent: Number(fields[1]), startTime: startFromTicks(fields[19] ?? "") };
  } catch {
    return null;
  }
}

function lookIntoTable(table: string): (pid: number) => Told | null {
  const rows = new Map<number, Told>();
  for (const line of table.split("\n")) {
    const [, pid, parent, startTime = ""] = /^\s*(\d+)\s+(\d+)\s+(.+?)\s*$/.exec(line) ?? [];
    if (pid !== undefined) rows.set(Number(pid), { parent: Number(parent), startTime: startFromDate(startTime) });
  }
  return (pid) => rows.get(pid) ?? null;
}

function readTable(columns: string, pid?: number): string {
  const which = pid === undefined ? ["-ax"] : ["-p", String(pid)];
  return runTool("ps", [...which, "-o", columns]) ?? "";
}
