/** Reads JSON that this user has kept for itself. */
import { fstatSync, readFileSync } from "node:fs";
import { ifThere } from "../../files/if-there.js";

/** Null for a file of another user, also when root reads it, and for one that cannot be read. */
export function readOwnFile(path: string): unknown {
  try {
    return ifThere(path, (fd) => {
      // mutant: token-of-another-user: if (process.getuid !== undefined && fstatSync(fd).uid !== process.getuid()) return null; →
      if (process.getuid !== undefined && fstatSync(fd).uid !== process.getuid()) return null;
      return JSON.parse(readFileSync(fd, "utf8"));
    });
  } catch {
    return null;
  }
}
