/**
 * Takes evidence that a tree has not changed: a digest over names, types, sizes, times and inodes of all that is in it.
 * Contents are not read; a change of a file shows in its ctime, which programs cannot set.
 */
import { createHash, type Hash } from "node:crypto";
import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { ioError } from "../../../base/errors.js";

const STRIDE = 64;

/** "" for a tree that is not there. */
export async function evidenceOf(root: string): Promise<string> {
  if (lstatSync(root, { throwIfNoEntry: false }) === undefined) return "";
  const hash = createHash("sha256");
  try {
    await note(root, ".", hash);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "changing";
    throw ioError(error, "look at", root);
  }
  return hash.digest("hex");
}

async function note(path: string, name: string, hash: Hash): Promise<void> {
  const found = lstatSync(path, { bigint: true });
  hash.update(`${name}\0${found.mode}:${found.size}:${found.mtimeNs}:${found.ctimeNs}:${found.ino}\0`);
  if (!found.isDirectory()) return;
  let met = 0;
  for (const inner of readdirSync(path).sort()) {
    met += 1;
    if (met % STRIDE === 0) await setImmediate();
    await note(join(path, inner), inner, hash);
  }
  hash.update("\0\0");
}

/** Quick enough for under the guard: the root alone, which shows whether it was replaced or entries came and went. */
export function rootEvidence(root: string): string {
  const found = lstatSync(root, { throwIfNoEntry: false, bigint: true });
  return found === undefined ? "" : `${found.ino}:${found.mode}:${found.mtimeNs}:${found.ctimeNs}`;
}
