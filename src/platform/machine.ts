/** Identifies this process: its machine, its boot, and the process among all that ever had its pid. */
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { userName } from "../base/user-name.js";
import { bootIdUnder, type ClockShift, readClockShift } from "./boot.js";
import { runTool } from "./system-tool.js";

export interface Machine {
  readonly machineId: string;
  /** Changes with every boot, and is empty when it is unknown. Containers on one kernel share it, and count as one machine. */
  readonly bootId: string;
}

let machine: Machine | undefined;
let clockShift: ClockShift | null | undefined;

/** Reads both once: neither changes while a process lives. */
export function thisMachine(): Machine {
  machine ??= { machineId: readMachineId(), bootId: bootIdUnder(ownShift()) };
  return machine;
}

function ownShift(): ClockShift | null {
  if (clockShift === undefined) clockShift = readClockShift();
  return clockShift;
}

function readMachineId(): string {
  return readText("/etc/machine-id") || `host-${hostname()}`;
}

/**
 * Returns when a process started, in the units of its system: in ticks of the kernel's clock on Linux, and in seconds of the
 * calendar on macOS. Empty when the process is there and the system does not tell; null when it is not there (any more).
 */
export function startTimeOf(pid: number): string | null {
  const found = lookUpProcess(pid);
  return found === "gone" ? null : found === "hidden" ? "" : found.startTime;
}

/** `hidden`: there is such a process, but the system does not let this one look at it. That proves nothing. */
function lookUpProcess(pid: number): { readonly startTime: string } | "gone" | "hidden" {
  const stat = readText(`/proc/${pid}/stat`);
  if (stat !== null) {
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ", 20);
    // A zombie has ended; only its parent has not asked how yet.
    // mutant: zombie: fields[0] === "Z" → fields[0] === "?"
    const ticks = fields[0] === "Z" || fields[0] === "X" ? undefined : fields[19];
    return ticks === undefined ? "gone" : { startTime: startFromTicks(ticks) };
  }
  const told = process.platform === "darwin" ? runTool("ps", ["-o", "state=,lstart=", "-p", String(pid)]) : null;
  if (told === null) return answers(pid) ? "hidden" : "gone";
  const [state = "", ...started] = told.trim().split(/\s+/);
  return state.startsWith("Z") ? "gone" : { startTime: startFromDate(started.join(" ")) };
}

const TICK_MS = 10;

/** The text of ticks since boot that this process reads, without what its time namespace adds to them; empty if unknown. */
export function startFromTicks(ticks: string): string {
  const shift = ownShift();
  // mutant: start-time-shift: - shift.boottimeMs / TICK_MS → - 0 / TICK_MS
  return shift === null ? "" : String(Math.floor(Number(ticks) - shift.boottimeMs / TICK_MS));
}

const LSTART = /^[A-Z][a-z]{2} +[A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d \d{4}$/;

/** The date that `ps` shows, in seconds; empty if it is none. */
export function startFromDate(text: string): string {
  const at = LSTART.test(text) ? Date.parse(`${text} UTC`) : Number.NaN;
  return Number.isNaN(at) ? "" : String(at / 1_000);
}

/**
 * Whether two start times of one pid are of two processes. Readers in two time namespaces may disagree by one tick, and `ps`
 * derives its second from two clocks.
 */
export function isOtherStart(one: string, other: string): boolean {
  // mutant: start-time-grain: > 1; → > 0;
  return one !== "" && other !== "" && Math.abs(Number(one) - Number(other)) > 1;
}

function answers(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

/** Names the space in which a pid means something; empty where the system has only one. */
export function pidNamespace(): string {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    return "";
  }
}

/** A pid counts only together with its start time, in the pid namespace and the boot it was seen in: `lifeBehind` knows those. */
export function lifeOfProcess(process: {
  readonly pid: number;
  readonly startTime: string;
  readonly pidNamespace: string;
}): "alive" | "dead" | "unknown" {
  if (process.pidNamespace !== pidNamespace()) return "unknown";
  const found = lookUpProcess(process.pid);
  if (found === "gone") return "dead";
  // mutant: hidden-is-not-dead: if (found === "hidden") return "unknown"; → if (found === "hidden") return "dead";
  if (found === "hidden") return "unknown";
  // mutant: pid-reuse: if (isOtherStart(found.startTime, process.startTime)) return "dead"; →
  if (isOtherStart(found.startTime, process.startTime)) return "dead";
  return found.startTime === "" || process.startTime === "" ? "unknown" : "alive";
}

/** `host:user:pid:start_time`. */
export function holderIdOf(pid: number = process.pid): string {
  return `${hostname()}:${userName()}:${pid}:${startTimeOf(pid) || "0"}`;
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return null;
  }
}
