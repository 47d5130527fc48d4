/** Reads `_LOCK.json` of a folder. It is always whole, so it can be read without the folder's guard. */
import { readFileSync } from "node:fs";
import { isHoldfastError } from "../../base/errors.js";
import { assertNoLink } from "../../platform/look-up.js";
import { accessError } from "./access-error.js";
import type { Places } from "./paths.js";
import { type FoundLock, parseLock } from "./record.js";

/** What `_LOCK.json` says now. */
export type Content =
  | { readonly kind: "free" }
  | { readonly kind: "locked"; readonly lock: FoundLock }
  | { readonly kind: "corrupt"; readonly why: string };

/** `folder`: the identity of the folder that it is read in. Throws `E_IO`, `E_FORMAT_UNSUPPORTED`. */
export function readContent(places: Places, folder: string): Content {
  return contentOf(readBytes(places), folder, places);
}

export function readBytes({ lock }: Places): Buffer | null {
  try {
    return readFileSync(lock);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw accessError(error, "read", lock);
    assertNoLink(lock);
    return null;
  }
}

export function contentOf(bytes: Buffer | null, folder: string, { lock: path }: Places): Content {
  if (bytes === null) return { kind: "free" };
  try {
    return { kind: "locked", lock: parseLock(bytes.toString(), folder, path) };
  } catch (error) {
    if (isHoldfastError(error)) throw error;
    return { kind: "corrupt", why: (error as Error).message };
  }
}
