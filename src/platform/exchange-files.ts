/** Exchanges two files in one step of the system, where it has one. */
import { renameSync } from "node:fs";
import native from "fs-native-extensions";

/**
 * Puts the file at `fresh` in the place of the one at `path`: whoever opens `path` finds the old one or the new one. What
 * was there is at `fresh` afterwards where the system can exchange (true), else it is gone (false). An exchange costs
 * less than a rename over a file: that makes ext4 write the new content out at once.
 */
export function exchangeFiles(fresh: string, path: string): boolean {
  try {
    native.swapSync(fresh, path);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "EINVAL" && code !== "ENOSYS" && code !== "ENOTSUP") throw error;
    renameSync(fresh, path);
    return false;
  }
}
