/**
 * Keeps the lease token of a lock whose command has ended: in the folder, for its OS user only (mode 0600), so that the
 * next command of the same user and holder can renew or unlock. A copy of the folder copies the token, too.
 */
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { accessError } from "../../client/deliverable/access-error.js";
import type { Places } from "../../client/deliverable/paths.js";
import { removeQuietly, writeFully } from "../../files/durable-file.js";
import { namesIn } from "../../platform/look-up.js";

const PREFIX = "token-";

export function keepToken({ own }: Places, lockId: string, token: string): void {
  const path = join(own, PREFIX + lockId);
  try {
    const fd = openSync(path, "wx", 0o600);
    try {
      writeFully(fd, Buffer.from(`${token}\n`), 0);
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    removeQuietly(path);
    throw accessError(error, "write", path);
  }
}

/** Null when there is none, or none that this user may read. */
export function keptToken({ own }: Places, lockId: string): string | null {
  try {
    return readFileSync(join(own, PREFIX + lockId), "utf8").trim();
  } catch {
    return null;
  }
}

/** One that stays behind opens nothing: it is named after a lock that is gone. */
export function removeTokens({ own }: Places, butFor: string | null): void {
  for (const name of namesIn(own))
    if (name.startsWith(PREFIX) && name !== PREFIX + butFor) removeQuietly(join(own, name));
}
