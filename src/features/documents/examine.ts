/** Finds what is wrong with documents, and creates, moves and writes nothing. */
import { closeSync, openSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { HoldfastError, ioError } from "../../base/errors.js";
import { sleep } from "../../base/sleep.js";
import type { Clock } from "../../platform/clock.js";
import { tryLockShared } from "../../platform/kernel-lock.js";
import { isThere } from "../../platform/look-up.js";
import { decodeDocument, readText } from "./document-file.js";
import { peek } from "./journal.js";
import { documentIds, documentPath, privateFolder } from "./names.js";
import { isBehind } from "./settle.js";

export interface DocumentFault {
  readonly kind: "quarantined" | "unreadable" | "newer";
  /** Null for a file that was put aside. */
  readonly id: string | null;
  readonly path: string;
  readonly problem: string;
}

const PUT_ASIDE = /\.json\.corrupt-[\dTZ-]+$/;
const PATIENCE_MS = 2_000;

/** Files that cannot be read, or only by a newer version, and those that were put aside. */
export function examineDocuments(dir: string): DocumentFault[] {
  const faults: DocumentFault[] = [];
  for (const id of documentIds(dir, "")) {
    const path = documentPath(dir, id);
    try {
      const text = readText(path);
      if (text !== null) decodeDocument(id, text, path);
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
      const kind = error.code === "E_FORMAT_UNSUPPORTED" ? "newer" : "unreadable";
      faults.push({ kind, id, path, problem: error.message });
    }
  }
  for (const name of readdirSync(dir, { recursive: true, encoding: "utf8" }).sort())
    if (PUT_ASIDE.test(name))
      faults.push({ kind: "quarantined", id: null, path: join(dir, name), problem: "it could not be read" });
  return faults;
}

/** Whether the journal has changes that the files have not. */
export async function isUnsettled(dir: string, clock: Clock): Promise<boolean> {
  const answer = await whileQuiet(dir, () => {
    const left = peek(join(privateFolder(dir), "journal"), clock().bootId);
    if (left === null) return false;
    if (left.kind === "last") return true;
    return (left.suspect && left.records.length > 0) || isBehind(left.records, dir);
  });
  return answer ?? false;
}

/** Runs `look` while nobody is inside a step; null when somebody always is. Where no step was ever made there is no guard. */
export async function whileQuiet<T>(dir: string, look: () => T): Promise<T | null> {
  const path = join(privateFolder(dir), "guard");
  // mutant: doctor-board-quiet: if (!isThere(path)) return look(); → if (path !== null) return look();
  if (!isThere(path)) return look();
  const fd = openToLook(path);
  try {
    for (const until = performance.now() + PATIENCE_MS; !tryLockShared(fd); await sleep(1))
      if (performance.now() > until) return null;
    return look();
  } finally {
    closeSync(fd);
  }
}

/** A shared lock on the guard keeps steps away as well, and users who may only read can have it. */
function openToLook(path: string): number {
  try {
    return openSync(path, "r");
  } catch (error) {
    throw ioError(error, "open the guard", path);
  }
}
