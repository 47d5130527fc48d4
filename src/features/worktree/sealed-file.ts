/**
 * Reads and writes small JSON files whose last field is the SHA-256 of the rest, so that a flipped bit is found when
 * they are read.
 */
import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { HoldfastError, ioError } from "../../base/errors.js";
import { assertNoLink } from "../../platform/look-up.js";

/** The checksum of a value's JSON, without the seal. */
function sealOf(value: object): string {
  return hash("sha256", JSON.stringify(value), "hex");
}

export function sealText(value: object, field = "checksum"): string {
  return `${JSON.stringify({ ...value, [field]: sealOf(value) }, null, 1)}\n`;
}

/** The value without its seal. `E_STORE_CORRUPT` when they do not fit, `E_IO`. */
export function readSealed<T extends object>(path: string, field = "checksum"): T {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw ioError(error, "read", path);
  }
  const value = unseal<T>(text, field);
  if (value === null)
    throw new HoldfastError("E_STORE_CORRUPT", `${path} is not what was written: its checksum differs`, {
      details: { path },
    });
  return value;
}

/** Null when the text is not exactly what `sealText` makes. */
export function unseal<T extends object>(text: string, field = "checksum"): T | null {
  try {
    const { [field]: _seal, ...value } = JSON.parse(text) as Record<string, unknown>;
    return sealText(value, field) === text ? (value as T) : null;
  } catch {
    return null;
  }
}

/** Null when there is no such file. */
export function readSealedIfThere<T extends object>(path: string): T | null {
  try {
    return readSealed<T>(path);
  } catch (error) {
    if (!(error instanceof HoldfastError && error.details.errno === "ENOENT")) throw error;
    assertNoLink(path);
    return null;
  }
}
