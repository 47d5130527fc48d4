/** Identifies this process: its machine, its boot, and the process among all that ever had its pid. */
import { readFileSync, readlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { hostname, userInfo } from "node:os";

export interface Machine {
  readonly machineId: string;
  /** Changes with every boot. Containers on one kernel share it, and count as one machine. */
  readonly bootId: string;
}

let machine: Machine | undefined;

export function thisMachine(): Machine {
  machine ??= { machineId: readMachineId(), bootId: readBootId() };
  return machine;
}

function readMachineId(): string {
  return readText("/etc/machine-id") || `host-${hostname()}`;
}

function readBootId(): string {
  const linux = readText("/proc/sys/kernel/random/boot_id");
  if (linux !== null) return linux;
  const mac = process.platform === "darwin" ? runQuietly("sysctl", ["-n", "kern.bootsessionuuid"]) : null;
  return mac ?? `boot-${hostname()}`;
}

/** The start time of a process in the kernel's own units, or null when there is no such process (any more) to be seen. */
export function startTimeOf(pid: number): string | null {
  const found = lookUpProcess(pid);
  return found === "gone" || found === "hidden" ? null : found.startTime;
}

/** `hidden`: there is such a process, but the system does not let this one look at it. That proves nothing. */
function lookUpProcess(pid: number): { readonly startTime: string } | "gone" | "hidden" {
  const stat = readText(`/proc/${pid}/stat`);
  if (stat !== null) {
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    // A zombie has ended; only its parent has not asked how yet.
    // mutant: zombie: fields[0] === "Z" → fields[0] === "?"
    const startTime = fields[0] === "Z" || fields[0] === "X" ? undefined : fields[19];
    return startTime === undefined ? "gone" : { startTime };
  }
  const told = process.platform === "linux" ? null : runQuietly("ps", ["-o", "lstart=", "-p", String(pid)]);
  return told === null ? (answers(pid) ? "hidden" : "gone") : { startTime: told };
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

/** A pid counts only together with its start time, in the pid namespace it was seen in. */
export function lifeOfProcess(process: {
  readonly pid: number;
  readonly startTime: string;
  readonly pidNamespace: string;
}): "alive" | "dead" | "unknown" {
  if (process.pidNamespace !== pidNamespace()) return "unknown";
  const found = lookUpProcess(process.pid);
  // mutant: hidden-is-not-dead: (found === "hidden") return "unknown"; → (found === "hidden") return "dead";
  if (found === "hidden") return "unknown";
  // mutant: pid-reuse: && found.startTime === process.startTime ? "alive" : "dead" → ? "alive" : "dead"
  return found !== "gone" && found.startTime === process.startTime ? "alive" : "dead";
}

/** `host:user:pid:start_time`. */
export function holderIdOf(pid: number = process.pid): string {
  return `${hostname()}:${userName()}:${pid}:${startTimeOf(pid) ?? "0"}`;
}

export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? "unknown");
  }
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return null;
  }
}

function runQuietly(command: string, args: readonly string[]): string | null {
  try {
    // Loaded only where there is no /proc: it would cost every start milliseconds.
    const { execFileSync } = createRequire(import.meta.url)(
      "node:child_process",
    ) as typeof import("node:child_process");
    const text = execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
    return text === "" ? null : text;
  } catch {
    return null;
  }
}
