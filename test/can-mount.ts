import { execFileSync } from "node:child_process";
import { mkdtempSync, rmdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Whether this process may mount, which root in a container mostly may not. Tried, since nothing else tells. */
export function canMount(): boolean {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return false;
  const trial = mkdtempSync(join(tmpdir(), "holdfast-mount-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "tmpfs", trial], { stdio: "ignore" });
    execFileSync("umount", [trial], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  } finally {
    rmdirSync(trial);
  }
}
