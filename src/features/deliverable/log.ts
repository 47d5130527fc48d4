/** Defines `_LOCK.log.jsonl`: a line of JSON for each change of the folder's holder, with the same fields in every line. */
import { closeSync, fstatSync, fsyncSync, ftruncateSync, openSync, readFileSync, readSync } from "node:fs";
import { writeFully } from "../../files/durable-file.js";

export type RecoveryReason = "lease_expired" | "pid_dead" | "corrupt";

export interface LogLine {
  readonly timestamp: string;
  /** Who did it. */
  readonly agent: string;
  readonly deliverable_id: string;
  readonly action: "locked" | "unlocked" | "recovered" | "terminated";
  readonly recovery_reason: RecoveryReason | null;
  readonly previous_holder: string | null;
  readonly previous_acquired: string | null;
  /** Of the new lock; without one, the number to which the fence was raised. */
  readonly fencing_token: number;
  readonly previous_fencing_token: number | null;
  readonly lock_id: string | null;
  /** Recovery only: `life` of the holder's process, `expired_for_ms`, `copied`, `why` it was not readable. */
  readonly evidence: Readonly<Record<string, unknown>> | null;
}

/** What is to be written, and behind how many bytes. */
export interface Appendix {
  readonly from: number;
  readonly text: string;
}

/** The lines as they will stand at the end of the log. Writes nothing. */
export function appendixOf(path: string, lines: readonly LogLine[]): Appendix {
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  let fd: number;
  try {
    fd = openSync(path, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return { from: 0, text };
    throw error;
  }
  try {
    const from = fstatSync(fd).size;
    return { from, text: from > 0 && !endsLine(fd, from) ? `\n${text}` : text };
  } finally {
    closeSync(fd);
  }
}

/**
 * Writes the appendix unless it is there already. What a crash left of it is cut off first; anything else that stands
 * there is somebody else's and stays. Doing it again changes nothing.
 */
export function writeOnce(path: string, { from, text }: Appendix): void {
  const fd = openSync(path, "a+", 0o644);
  try {
    const wanted = Buffer.from(text);
    const tail = tailOf(fd, from);
    if (tail.includes(wanted)) return;
    if (tail.length > 0 && wanted.subarray(0, tail.length).equals(tail)) ftruncateSync(fd, from);
    writeFully(fd, wanted, fstatSync(fd).size);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

function tailOf(fd: number, from: number): Buffer {
  const { size } = fstatSync(fd);
  const tail = Buffer.alloc(Math.max(0, size - from));
  if (tail.length > 0) readSync(fd, tail, 0, tail.length, from);
  return tail;
}

function endsLine(fd: number, end: number): boolean {
  const last = Buffer.alloc(1);
  readSync(fd, last, 0, 1, end - 1);
  return last[0] === 0x0a;
}

/** The highest fencing token the log tells of; 0 without one. */
export function highestToken(path: string): number {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch {
    return 0;
  }
  let highest = 0;
  for (const [, digits] of text.matchAll(/"fencing_token":(\d{1,16})/g)) highest = Math.max(highest, Number(digits));
  return Number.isSafeInteger(highest) ? highest : 0;
}
