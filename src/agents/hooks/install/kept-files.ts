/**
 * Keeps the content that files of other programs had before an install changed them, in `.holdfast/installed.json`. It
 * is on the disk before the first of these files is changed, because it is the only copy.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { HoldfastError, ioError } from "../../../base/errors.js";
import { HOME } from "../../../base/home-folder.js";
import { removeFile, replaceFile } from "../../../files/durable-file.js";
import { isFields } from "../fields.js";

const SCHEMA = 1;

export interface Kept {
  /** Null: there was no such file. */
  readonly before: string | null;
  readonly after_sha256: string;
  readonly parts: readonly string[];
}

/** By path. `E_STORE_CORRUPT`, `E_FORMAT_UNSUPPORTED`, `E_IO`. */
export function readKept(root: string): Map<string, Kept> {
  const path = keptPath(root);
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return new Map();
    throw ioError(error, "read", path);
  }
  const record = parsed(bytes);
  if (isFields(record) && Number(record.schema_version) > SCHEMA)
    throw new HoldfastError("E_FORMAT_UNSUPPORTED", `${path} was written by a newer version of holdfast`, {
      details: { path },
    });
  // mutant: hook-install-torn: throw corrupt(path); → return corrupt(path) && new Map();
  if (!isFields(record) || !isFields(record.files) || !Object.values(record.files).every(isKept)) throw corrupt(path);
  return new Map(Object.entries(record.files as Record<string, Kept>));
}

/** One at a time. */
export function writeKept(root: string, kept: ReadonlyMap<string, Kept>): void {
  const path = keptPath(root);
  const text = `${JSON.stringify({ schema_version: SCHEMA, files: Object.fromEntries(kept) }, null, 2)}\n`;
  if (kept.size === 0) removeFile(path);
  else replaceFile(path, Buffer.from(text), true);
}

function keptPath(root: string): string {
  return join(root, HOME, "installed.json");
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return null;
  }
}

function isKept(value: unknown): value is Kept {
  if (!isFields(value)) return false;
  const { before, after_sha256, parts } = value;
  return (before === null || typeof before === "string") && typeof after_sha256 === "string" && Array.isArray(parts);
}

function corrupt(path: string): HoldfastError {
  return new HoldfastError("E_STORE_CORRUPT", `${path} cannot be read: what files were before an install is in it`, {
    details: { path },
    next: [
      "Put back a copy of it. Without one, remove it: taking hooks out then leaves the rest of each file as it is now.",
      `rm ${path}`,
    ],
  });
}
