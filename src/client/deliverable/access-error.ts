/** Errors for files that belong to another OS user: they name that user and the operation that is not permitted. */
import { statSync } from "node:fs";
import { dirname } from "node:path";
import { HoldfastError, ioError, isHoldfastError } from "../../base/errors.js";

const REFUSALS: ReadonlySet<string> = new Set(["EACCES", "EPERM"]);

/** `E_IO`; when it is for want of permission it names the permission, the file's user and its mode. */
export function accessError(thrown: unknown, doing: string, path: string): HoldfastError {
  const error = isHoldfastError(thrown, "E_IO") ? thrown.cause : thrown;
  const errno = (error as NodeJS.ErrnoException | undefined)?.code ?? "";
  if (!REFUSALS.has(errno)) return ioError(thrown, doing, path);
  const about = ownerOf(path) ?? ownerOf(dirname(path));
  const uid = process.getuid?.() ?? null;
  const whose = about === null ? "" : ` (${about.path} belongs to user ${about.uid} and has mode ${about.mode})`;
  return new HoldfastError("E_IO", `no permission to ${doing} ${path}: ${errno}${whose}; this is user ${uid}`, {
    cause: error,
    details: { path, errno, permission: doing, uid, owner_uid: about?.uid ?? null, mode: about?.mode ?? null },
    next: [`Run as the user who owns it, or let that user give this one the permission to ${doing} ${path}.`],
  });
}

function ownerOf(path: string): { readonly path: string; readonly uid: number; readonly mode: string } | null {
  try {
    const { uid, mode } = statSync(path);
    return { path, uid, mode: (mode & 0o7777).toString(8).padStart(4, "0") };
  } catch {
    return null;
  }
}
