/**
 * Defines a log: one JSON object a line, each with a `seq` one higher than the last. Lines are only ever added. A line
 * of another program that is not JSON is skipped, not fatal.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { ioError } from "../../base/errors.js";

export type LogEntry = { readonly seq: number; readonly [name: string]: unknown };

const FIRST_LOOK = 4096;

/** Where a log ends. */
export interface LogEnd {
  readonly size: number;
  readonly seq: number;
  /** False when the last line has no end: whoever adds one begins with it. */
  readonly isWhole: boolean;
}

export function endOfLog(path: string): LogEnd {
  return withLog(path, { size: 0, seq: 0, isWhole: true }, (fd, size) => {
    if (size === 0) return { size, seq: 0, isWhole: true };
    for (let length = FIRST_LOOK; ; length *= 16) {
      const from = Math.max(0, size - length);
      const text = readAt(fd, from, size - from);
      const seq = lastSeq(from === 0 ? text : text.slice(text.indexOf("\n") + 1));
      if (seq !== null || from === 0) return { size, seq: seq ?? 0, isWhole: text.endsWith("\n") };
    }
  });
}

function lastSeq(text: string): number | null {
  for (const line of text.split("\n").reverse()) {
    const entry = parseLine(line);
    if (entry !== null) return entry.seq;
  }
  return null;
}

/** What stands in the log from this byte on: whole lines only, and where the next reading goes on. */
export function readLog(path: string, from: number): { readonly entries: LogEntry[]; readonly end: number } {
  return withLog(path, { entries: [], end: from }, (fd, size) => {
    if (size < from) return { entries: [], end: size };
    const text = readAt(fd, from, size - from);
    const whole = text.slice(0, text.lastIndexOf("\n") + 1);
    const entries = whole
      .split("\n")
      .map(parseLine)
      .filter((entry) => entry !== null);
    return { entries, end: from + Buffer.byteLength(whole) };
  });
}

/** The last line before this byte, if it is an entry: to see whether the log is still the one that was read. */
export function entryBefore(path: string, end: number): LogEntry | null {
  return withLog<LogEntry | null>(path, null, (fd, size) => {
    if (size < end) return null;
    for (let length = FIRST_LOOK; ; length *= 16) {
      const from = Math.max(0, end - length);
      const text = readAt(fd, from, end - from);
      if (!text.endsWith("\n")) return null;
      const start = text.lastIndexOf("\n", text.length - 2) + 1;
      if (start > 0 || from === 0) return parseLine(text.slice(start, -1));
    }
  });
}

function parseLine(line: string): LogEntry | null {
  if (!line.startsWith("{")) return null;
  try {
    const entry = JSON.parse(line) as LogEntry;
    return Number.isSafeInteger(entry.seq) ? entry : null;
  } catch {
    return null;
  }
}

function withLog<T>(path: string, none: T, work: (fd: number, size: number) => T): T {
  let fd: number;
  try {
    fd = openSync(path, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return none;
    throw ioError(error, "read", path);
  }
  try {
    return work(fd, fstatSync(fd).size);
  } catch (error) {
    throw ioError(error, "read", path);
  } finally {
    closeSync(fd);
  }
}

function readAt(fd: number, from: number, length: number): string {
  const bytes = Buffer.alloc(length);
  const count = readSync(fd, bytes, 0, length, from);
  return bytes.toString("utf8", 0, count);
}
