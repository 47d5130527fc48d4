/**
 * The journal of the documents: a circular file that is written in place, so that making a change durable is one
 * `fdatasync` of blocks that are already allocated.
 *
 *   bytes 0 to 511   the mark: which records are known to be in the document files. Written in place, never synced.
 *   from byte 4096   the records in order, all of one generation; anything after the last is of an older generation.
 *
 * The mark serves processes that died: the page cache outlives them, so within one boot the mark is right. After a power
 * cut it may be anything; it then names another boot, and every record of the journal counts as not yet in the files.
 *
 * A generation ends when the next record does not fit: the files are synced, and records begin at 4096 again with a
 * higher generation. The files are synced before the first old record is written over, so at any moment each change that
 * was acknowledged is in a synced file or in a record that is whole.
 */
import { randomUUID } from "node:crypto";
import { closeSync, fdatasyncSync, fstatSync, openSync, readSync, renameSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { HoldfastError, ioError } from "../../base/errors.js";
import { isNamed, syncFolder, writeFully } from "../../files/durable-file.js";
import { ifThere } from "../../files/if-there.js";
import type { Clock } from "../../platform/clock.js";
import { createFresh } from "../../platform/folder-rights.js";
import {
  announcedLength,
  decodeRecord,
  encodeRecord,
  HEAD_LENGTH,
  type JournalRecord,
  type PlacedRecord,
} from "./journal-record.js";

const MARK_LENGTH = 512;
const FIRST_AT = 4096;
const CAPACITY = 1024 * 1024;

interface Mark {
  readonly boot: string;
  readonly generation: number;
  readonly seq: number;
  readonly end: number;
  /** A sync failed: what the files seem to hold may never reach the disk, so they are all written again. */
  readonly suspect: boolean;
}

const THIS_PROCESS = `process ${randomUUID()}`;

/** Where the boot is unknown, a mark counts for the process that wrote it: a restart may have come before any other. */
function markedAs(bootId: string): string {
  // mutant: documents-unknown-boot: bootId === "" ? THIS_PROCESS : bootId → bootId === THIS_PROCESS ? "" : bootId
  return bootId === "" ? THIS_PROCESS : bootId;
}

/** What has to be done before the files can be believed. */
export type Unsettled =
  | { readonly kind: "nothing" }
  /** Whoever wrote this one died before the files had it. */
  | { readonly kind: "last"; readonly record: JournalRecord }
  /** The machine was started anew since. */
  | { readonly kind: "all"; readonly records: readonly JournalRecord[]; readonly suspect: boolean };

/** All of it is used under the guard only. */
export class Journal {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #boot: string;
  #fd = -1;
  /** Length of the record behind the mark. */
  #ahead = 0;
  #mark: Mark = { boot: "", generation: 0, seq: 0, end: FIRST_AT, suspect: false };

  constructor(path: string, clock: Clock) {
    this.#path = path;
    this.#clock = clock;
    this.#boot = markedAs(clock().bootId);
  }

  look(): Unsettled {
    this.#open();
    const mark = readMark(this.#fd);
    if (mark === null || mark.boot !== this.#boot || mark.suspect) {
      const records = this.#scan();
      const last = records.at(-1);
      const generation = Math.max(last?.generation ?? 0, mark?.generation ?? 0);
      const seq = Math.max(last?.seq ?? 0, mark?.seq ?? 0);
      this.#mark = { boot: this.#boot, generation, seq, end: FIRST_AT, suspect: false };
      return { kind: "all", records: records.map(({ record }) => record), suspect: mark?.suspect ?? false };
    }
    this.#mark = mark;
    const next = this.#recordAtEnd();
    this.#ahead = next?.length ?? 0;
    return next === null ? { kind: "nothing" } : { kind: "last", record: next.record };
  }

  /** True when there is room for it; else a new generation has to begin first. */
  fits(record: JournalRecord): boolean {
    return this.#mark.end === FIRST_AT || this.#mark.end + this.#encode(record).length <= CAPACITY;
  }

  /** A record that was too large for a generation: whoever wrote it also waits until the files are synced. */
  get isOverfull(): boolean {
    return this.#mark.end > CAPACITY;
  }

  /** The commit: when this returns, the change is on the disk, and whoever comes next finishes it. */
  commit(record: JournalRecord): void {
    const bytes = this.#encode(record);
    try {
      writeFully(this.#fd, bytes, this.#mark.end);
    } catch (error) {
      this.#void();
      throw ioError(error, "write the journal", this.#path);
    }
    this.#ahead = bytes.length;
    try {
      // mutant: documents-commit-sync: fdatasyncSync(this.#fd); →
      fdatasyncSync(this.#fd);
    } catch (cause) {
      // What is written now may or may not be there after a power cut.
      this.#void();
      throw new HoldfastError("E_COMMIT_UNCERTAIN", `the disk refused to keep ${this.#path}`, {
        cause,
        details: { path: this.#path },
      });
    }
  }

  /**
   * Makes what another has written last survive before the files get it. Some of them may have it already, so it is not
   * taken back when the disk refuses: whoever comes next writes all files anew, from this record too.
   */
  sync(): void {
    try {
      fdatasyncSync(this.#fd);
    } catch (error) {
      // mutant: documents-half-refused: this.distrust(); → this.#void();
      this.distrust();
      throw ioError(error, "sync the journal", this.#path);
    }
  }

  /** The record behind the mark is in the files now. */
  settled(): void {
    this.#write({ ...this.#mark, seq: this.#mark.seq + 1, end: this.#mark.end + this.#ahead });
    this.#ahead = 0;
  }

  /** Every record of this generation. */
  records(): readonly JournalRecord[] {
    return this.#scan().map(({ record }) => record);
  }

  /**
   * Everything is in synced files: records may be written over. Generations count from the clock, so that none comes
   * twice even if the mark and the first record are both lost.
   */
  begin(): void {
    const generation = Math.max(this.#mark.generation + 1, Math.floor(this.#clock().wallMs));
    this.#write({ boot: this.#boot, generation, seq: this.#mark.seq, end: FIRST_AT, suspect: false });
  }

  distrust(): void {
    this.#write({ ...this.#mark, suspect: true });
  }

  close(): void {
    if (this.#fd >= 0) closeSync(this.#fd);
    this.#fd = -1;
  }

  #encode(record: JournalRecord): Buffer {
    return encodeRecord({ generation: this.#mark.generation, seq: this.#mark.seq + 1 }, record);
  }

  /** What stands behind the mark is taken back: nobody shall finish it. */
  #void(): void {
    try {
      writeSync(this.#fd, Buffer.alloc(HEAD_LENGTH), 0, HEAD_LENGTH, this.#mark.end);
    } catch {
      // Then it may be finished by whoever comes next, as after a death in this place.
    }
  }

  #recordAtEnd(): PlacedRecord | null {
    const { generation, seq, end } = this.#mark;
    const place = { generation, seq: seq + 1 };
    const length = announcedLength(readBytes(this.#fd, end, HEAD_LENGTH), place);
    return length === null ? null : decodeRecord(readBytes(this.#fd, end, length), 0);
  }

  #scan(): PlacedRecord[] {
    return allRecords(this.#fd);
  }

  #write(mark: Mark): void {
    this.#mark = mark;
    writeFully(this.#fd, Buffer.from(`${JSON.stringify(mark).padEnd(MARK_LENGTH - 1)}\n`), 0);
  }

  #open(): void {
    if (this.#fd >= 0) {
      if (isNamed(this.#fd, this.#path)) return;
      this.close();
    }
    try {
      this.#fd = openSync(this.#path, "r+");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw ioError(error, "open the journal", this.#path);
      this.#create();
    }
  }

  /** With room for a generation: writing into blocks that are there needs no change of metadata when it is synced. */
  #create(): void {
    const fresh = `${this.#path}.new`;
    try {
      const fd = createFresh(fresh, "wx+");
      try {
        writeFully(fd, Buffer.alloc(CAPACITY), 0);
        fdatasyncSync(fd);
        renameSync(fresh, this.#path);
        syncFolder(dirname(this.#path));
      } finally {
        closeSync(fd);
      }
      this.#fd = openSync(this.#path, "r+");
    } catch (error) {
      throw ioError(error, "create the journal", this.#path);
    }
  }
}

/**
 * For readers, who take no guard: the records that a power cut may have kept out of the files, or null when the files
 * are right as they are.
 */
export function unsettledRecords(path: string, boot: string): readonly JournalRecord[] | null {
  return ifThere(path, (fd) =>
    readMark(fd)?.boot === markedAs(boot) ? null : allRecords(fd).map(({ record }) => record),
  );
}

/** For readers too: whether somebody has settled it in this boot, or there is none. */
export function isSettledIn(path: string, boot: string): boolean {
  return ifThere(path, (fd) => readMark(fd)?.boot === markedAs(boot)) ?? true;
}

/** For whoever only looks, under the guard: what `look` would find to do, or null. */
export function peek(path: string, boot: string): Exclude<Unsettled, { kind: "nothing" }> | null {
  return ifThere(path, (fd) => {
    const mark = readMark(fd);
    const records = allRecords(fd);
    if (mark === null || mark.boot !== markedAs(boot) || mark.suspect)
      return { kind: "all", records: records.map(({ record }) => record), suspect: mark?.suspect ?? false };
    const last = records.find(({ generation, seq }) => generation === mark.generation && seq === mark.seq + 1);
    return last === undefined ? null : { kind: "last", record: last.record };
  });
}

function allRecords(fd: number): PlacedRecord[] {
  return recordsIn(readBytes(fd, FIRST_AT, Math.max(0, fstatSync(fd).size - FIRST_AT)));
}

function recordsIn(bytes: Buffer): PlacedRecord[] {
  const records: PlacedRecord[] = [];
  for (let at = 0; ; ) {
    const next = decodeRecord(bytes, at);
    const last = records.at(-1);
    if (next === null) return records;
    if (last !== undefined && (next.generation !== last.generation || next.seq !== last.seq + 1)) return records;
    records.push(next);
    at += next.length;
  }
}

function readMark(fd: number): Mark | null {
  try {
    const mark = JSON.parse(readBytes(fd, 0, MARK_LENGTH).toString()) as Mark;
    return typeof mark.boot === "string" && Number.isSafeInteger(mark.end) ? mark : null;
  } catch {
    return null;
  }
}

function readBytes(fd: number, at: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  let done = 0;
  while (done < length) {
    const count = readSync(fd, bytes, done, length - done, at + done);
    if (count === 0) break;
    done += count;
  }
  return bytes.subarray(0, done);
}
