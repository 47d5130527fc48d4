/**
 * Handles file names that are not UTF-8. Node converts such a name to text that names no file, so a call with that text
 * finds nothing.
 */
import { isUtf8 } from "node:buffer";
import { readdirSync, rmdirSync, unlinkSync } from "node:fs";

/** What stands in a text for what is not UTF-8; it may also be part of a name that is. */
const STAND_IN = "\ufffd";
const SLASH = Buffer.from("/");

/** Whether a name, as Node has it, may be that of another. */
export function mayBeOdd(name: string): boolean {
  return name.includes(STAND_IN);
}

export function hasOddName(folder: string): boolean {
  return readdirSync(folder, { encoding: "buffer" }).some((name) => !isUtf8(name));
}

/** Removes what has such a name in this folder, with all that is in it. */
export function removeOddNames(folder: string): void {
  removeIn(Buffer.from(folder), (name) => !isUtf8(name));
}

function removeIn(folder: Buffer, isWanted: (name: Buffer) => boolean): void {
  for (const entry of readdirSync(folder, { encoding: "buffer", withFileTypes: true })) {
    if (!isWanted(entry.name)) continue;
    const path = Buffer.concat([folder, SLASH, entry.name]);
    if (!entry.isDirectory()) unlinkSync(path);
    else {
      removeIn(path, () => true);
      rmdirSync(path);
    }
  }
}
