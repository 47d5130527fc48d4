/** Converts SQLite's result codes to `HoldfastError`. */
import { HoldfastError, ioError } from "../../../base/errors.js";

const ERROR = 1;
const BUSY = 5;
const READONLY = 8;
const IOERR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANTOPEN = 14;
const PROTOCOL = 15;
const NOTADB = 26;

/** The primary result code decides; anything that is not SQLite's passes through. */
export function codedError(error: unknown, path: string): unknown {
  const extended = (error as { errcode?: number }).errcode;
  if (extended === undefined) return error;
  const cause = error as Error;
  switch (extended & 0xff) {
    case BUSY:
    case PROTOCOL:
      return new HoldfastError("E_STORE_UNAVAILABLE", `${path} is busy with another writer`, { reason: "busy", cause });
    case CORRUPT:
    case NOTADB:
      return new HoldfastError("E_STORE_CORRUPT", `${path}: ${cause.message}`, { cause, details: { path } });
    case READONLY:
      return ioError(Object.assign(cause, { code: "EACCES" }), "write", path);
    case FULL:
      return ioError(Object.assign(cause, { code: "ENOSPC" }), "write", path);
    case CANTOPEN:
    case IOERR:
      return ioError(Object.assign(cause, { code: "EIO" }), "use", path);
    default:
      return error;
  }
}

/** The same for a statement of ours: SQLite refuses to prepare one where tables or columns of the store are missing. */
export function codedSchemaError(error: unknown, path: string): unknown {
  if ((error as { errcode?: number }).errcode !== ERROR) return codedError(error, path);
  const cause = error as Error;
  return new HoldfastError("E_STORE_CORRUPT", `${path} does not have the tables of a store: ${cause.message}`, {
    cause,
    details: { path, missing: cause.message },
  });
}

export function isBusy(error: unknown): boolean {
  return error instanceof HoldfastError && error.code === "E_STORE_UNAVAILABLE";
}
