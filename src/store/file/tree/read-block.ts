/** Reads a block file without the guard, for a reader that neither keeps it open nor writes it. */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { ioError } from "../../../base/errors.js";
import { assertNoLink } from "../../../platform/look-up.js";
import { PAGE, parseBlock } from "./block-file.js";

const TRIES = 20;

/**
 * Null when there is no file, or an empty one, as `BlockFile.read` has it. What is caught half-written is read again: a page
 * counts when it is there a second time, since a mixture of two writes may well be JSON. `E_STORE_CORRUPT` when it stays
 * none.
 */
export function readBlock<T>(path: string): T | null {
  for (let tries = 1; ; tries += 1) {
    const { text, isWhole } = textOf(path);
    if (!isWhole && tries < TRIES) continue;
    if (text.trim() === "") return null;
    try {
      return parseBlock<T>(text, path);
    } catch (error) {
      if (tries >= TRIES) throw error;
    }
  }
}

/** Anything longer than a page was never overwritten. */
function textOf(path: string): { readonly text: string; readonly isWhole: boolean } {
  try {
    const fd = openSync(path, "r");
    try {
      const bytes = contentOf(fd);
      // mutant: read-block-twice: bytes.length > PAGE || bytes.equals(contentOf(fd)) → bytes.length >= 0
      return { text: bytes.toString(), isWhole: bytes.length > PAGE || bytes.equals(contentOf(fd)) };
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw ioError(error, "read", path);
    assertNoLink(path);
    return { text: "", isWhole: true };
  }
}

function contentOf(fd: number): Buffer {
  const bytes = Buffer.allocUnsafe(fstatSync(fd).size);
  let length = 0;
  while (length < bytes.length) {
    const more = readSync(fd, bytes, length, bytes.length - length, length);
    if (more === 0) break;
    length += more;
  }
  return bytes.subarray(0, length);
}
