/** A block file for somebody without the guard, who neither keeps it open nor writes it. */
import { readFileSync } from "node:fs";
import { HoldfastError, ioError } from "../../support/errors.js";

const TRIES = 20;

/**
 * Null when there is no file, or an empty one, as `BlockFile.read` has it. One caught half-written is read again.
 * `E_STORE_CORRUPT` when it stays no JSON.
 */
export function readBlock<T>(path: string): T | null {
  for (let tries = 1; ; tries += 1) {
    const text = textOf(path);
    if (text.trim() === "") return null;
    try {
      return JSON.parse(text) as T;
    } catch (cause) {
      if (tries >= TRIES)
        throw new HoldfastError("E_STORE_CORRUPT", `${path} is not readable`, { cause, details: { path } });
    }
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw ioError(error, "read", path);
  }
}
