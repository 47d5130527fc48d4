/**
 * Writes the JSON of a command whose standard output belongs to another program: one document in a file, written whole
 * or not at all.
 */
import { accessSync, constants, renameSync, writeFileSync } from "node:fs";
import { dirname, resolve, sep } from "node:path";
import { type HoldfastError, ioError } from "../../../base/errors.js";
import { removeQuietly } from "../../../files/durable-file.js";
import type { BaseContext } from "../command.js";

interface Report {
  succeeded(data: Readonly<Record<string, unknown>>): void;
  /** `more` goes into the details of the error. */
  failed(error: HoldfastError, more?: Readonly<Record<string, unknown>>): void;
}

const NO_REPORT: Report = { succeeded() {}, failed() {} };

/** `E_IO` when nothing could be written there: better before the work than after it. */
export function openReport(file: string | undefined, { cwd, command }: BaseContext): Report {
  if (file === undefined) return NO_REPORT;
  const path = resolve(cwd, file);
  try {
    // A file in its place is not one to write into.
    accessSync(`${dirname(path)}${sep}`, constants.W_OK);
  } catch (error) {
    throw ioError(error, "write into", dirname(path));
  }
  const write = (document: unknown): void => writeWhole(path, `${JSON.stringify(document)}\n`);
  return {
    succeeded: (data) => write({ ok: true, command, data }),
    failed: (error, more = {}) => {
      const { code, message, retryable, details, next } = error;
      write({ ok: false, command, error: { code, message, retryable, details: { ...details, ...more }, next } });
    },
  };
}

/** Several commands may name the same file: the last one wins, whole. */
function writeWhole(path: string, text: string): void {
  const fresh = `${path}.${process.pid}.new`;
  try {
    writeFileSync(fresh, text);
    renameSync(fresh, path);
  } catch (error) {
    removeQuietly(fresh);
    throw ioError(error, "write", path);
  }
}
