/**
 * Runs a tool of the system, by an absolute path and with a fixed time zone and language: so the answer depends neither on
 * PATH nor on the settings of the caller. Null where the tool is missing or not allowed, or has nothing to say: that proves
 * nothing.
 */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";

const PATHS = {
  ps: ["/bin/ps", "/usr/bin/ps"],
  sysctl: ["/usr/sbin/sysctl", "/sbin/sysctl"],
} as const;

export function runTool(tool: keyof typeof PATHS, args: readonly string[]): string | null {
  const path = PATHS[tool].find((each) => existsSync(each));
  if (path === undefined) return null;
  try {
    // Loaded only where there is no /proc: it would cost every start milliseconds.
    const { execFileSync } = createRequire(import.meta.url)(
      "node:child_process",
    ) as typeof import("node:child_process");
    const text = execFileSync(path, args, {
      encoding: "utf8",
      // mutant: tool-in-utc: env: { LC_ALL: "C", TZ: "UTC" }, →
      env: { LC_ALL: "C", TZ: "UTC" },
      stdio: ["ignore", "pipe", "ignore"],
    });
    return text.trim() === "" ? null : text;
  } catch {
    return null;
  }
}
