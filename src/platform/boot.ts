/**
 * Identifies the boot of the kernel and how far the clocks of this process are shifted in it.
 *
 * A time namespace shifts the monotonic clock, the time since boot and all start times that a process in it reads. Taken out
 * of the readings, the shift leaves the kernel's own clock, which is one for all namespaces: so a boot id stands for a clock
 * as well. Where the shift or the id cannot be told, both are unknown, and nothing is compared by them.
 */
import { readFileSync, readlinkSync, statSync } from "node:fs";
import { runTool } from "./system-tool.js";

/** How far the clocks that a process reads are ahead of the kernel's, in milliseconds. */
export interface ClockShift {
  readonly monotonicMs: number;
  readonly boottimeMs: number;
}

const NO_SHIFT: ClockShift = { monotonicMs: 0, boottimeMs: 0 };

/** The boot id of the kernel; empty when it, or the clock that it stands for, is unknown. */
export function bootIdUnder(shift: ClockShift | null): string {
  // mutant: clock-unknown: return shift === null ? "" : readBootId(); → return shift === null ? readBootId() : readBootId();
  return shift === null ? "" : readBootId();
}

const BOOT_ID = "/proc/sys/kernel/random/boot_id";

function readBootId(): string {
  if (process.platform === "darwin") return (runTool("sysctl", ["-n", "kern.bootsessionuuid"]) ?? "").trim();
  try {
    // A container manager that puts a file of its own there says nothing about the kernel.
    // mutant: boot-id-mounted-over: if (statSync(BOOT_ID).dev !== statSync("/proc/self/stat").dev) return ""; → if (statSync(BOOT_ID).dev < 0) return "";
    if (statSync(BOOT_ID).dev !== statSync("/proc/self/stat").dev) return "";
    return readFileSync(BOOT_ID, "utf8").trim();
  } catch {
    return "";
  }
}

/**
 * Null when it cannot be told. The file shows the namespace of the children of this process, which is its own only while
 * both links are the same.
 */
export function readClockShift(): ClockShift | null {
  let own: string;
  try {
    own = readlinkSync("/proc/self/ns/time");
  } catch (error) {
    // A kernel, or a system, without time namespaces.
    return (error as NodeJS.ErrnoException).code === "ENOENT" ? NO_SHIFT : null;
  }
  try {
    // mutant: shift-of-children: if (readlinkSync("/proc/self/ns/time_for_children") !== own) return null; → own.trim();
    if (readlinkSync("/proc/self/ns/time_for_children") !== own) return null;
    const text = readFileSync("/proc/self/timens_offsets", "utf8");
    const of = (clock: string): number => {
      const [, seconds, nanoseconds] = new RegExp(`^${clock}\\s+(-?\\d+)\\s+(\\d+)$`, "m").exec(text) ?? [];
      return Number(seconds) * 1e3 + Number(nanoseconds) / 1e6;
    };
    const shift = { monotonicMs: of("monotonic"), boottimeMs: of("boottime") };
    return Number.isFinite(shift.monotonicMs + shift.boottimeMs) ? shift : null;
  } catch {
    return null;
  }
}
