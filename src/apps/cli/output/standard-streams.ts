/**
 * Writes to standard output and standard error directly. The streams of Node cost five milliseconds at each start, and
 * whether they have written everything when the process ends depends on what is behind them; these have.
 */
import { fstatSync, readSync, writeSync } from "node:fs";
import { isatty } from "node:tty";
import { ioError } from "../../../base/errors.js";

const PAUSE_MS = 1;

/** Returns when all of it is written. A reader that went away (`| head`) ends the process quietly. `E_IO`. */
export function writeOut(text: string): void {
  let isRead: boolean;
  try {
    isRead = writeAll(1, text);
  } catch (error) {
    throw ioError(error, "write to", "standard output");
  }
  if (!isRead) process.exit(0);
}

/** As much of it as can be written: there is no other place to tell of a failure. */
export function writeError(text: string): void {
  try {
    writeAll(2, text);
  } catch {
    // Closed, or its disk is full.
  }
}

/** Standard input to its end; empty when it is closed, and when a person sits behind it. */
export function readIn(): string {
  if (isatty(0)) return "";
  const parts: Buffer[] = [];
  const part = Buffer.alloc(65_536);
  for (;;)
    try {
      const count = readSync(0, part);
      if (count === 0) return Buffer.concat(parts).toString();
      parts.push(Buffer.from(part.subarray(0, count)));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== "EAGAIN") return Buffer.concat(parts).toString();
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
    }
}

/** One line that a person types; empty at the end of the input. */
export function readLine(): string {
  const part = Buffer.alloc(1_024);
  try {
    return part.toString("utf8", 0, readSync(0, part));
  } catch {
    return "";
  }
}

/** Whether a terminal is behind it. Only what might be one is asked. */
export function isTerminal(fd: 1 | 2): boolean {
  try {
    if (!fstatSync(fd).isCharacterDevice()) return false;
  } catch {
    return false;
  }
  return (fd === 1 ? process.stdout : process.stderr).isTTY === true;
}

/** False when nobody reads any more. */
function writeAll(fd: number, text: string): boolean {
  const bytes = Buffer.from(text);
  for (let done = 0; done < bytes.length; ) {
    try {
      done += writeSync(fd, bytes, done);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "EPIPE") return false;
      if (code !== "EAGAIN") throw error;
      // Somebody has made the pipe non-blocking, and it is full.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
    }
  }
  return true;
}
