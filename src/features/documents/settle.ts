/**
 * Brings the files to the state that the journal has. A record may be met again after a death or a power cut, so this
 * first looks at what is there:
 *
 *   the last content the journal has of it    nothing to do
 *   an earlier one of the same records        replaced by the last
 *   nothing, zeros, or invalid JSON           a power cut tore it: replaced; if it held anything it is quarantined
 *   valid JSON that is in no record           another program (an editor, git) changed it afterwards: left alone
 */
import { closeSync, fstatSync, fsyncSync, openSync, readSync } from "node:fs";
import { dirname } from "node:path";
import { ioError } from "../../base/errors.js";
import { syncFolder, writeFully } from "../../files/durable-file.js";
import { makeFolder, openOrMake } from "../../platform/folder-rights.js";
import { quarantine, readText, replaceDocument } from "./document-file.js";
import { identityOf, type JournalRecord, type LogAppend } from "./journal-record.js";
import { documentPath, logPath } from "./names.js";

export interface Place {
  readonly dir: string;
  /** A name to write new files at. */
  readonly fresh: string;
  readonly now: () => Date;
}

/** The same for a record whose files are known to be as it found them. */
export function apply({ writes, appends }: JournalRecord, { dir, fresh }: Place): void {
  for (const { id, before, text } of writes) replaceDocument(documentPath(dir, id), text, fresh, before !== null);
  for (const append of appends) settleLog(append, dir);
}

/** What the journal knows of one document. */
export interface Course {
  readonly known: Set<string | null>;
  after: string | null;
  text: string | null;
}

/** `rewrite`: also what looks right, because the disk may never get it. */
export function settle(records: readonly JournalRecord[], place: Place, rewrite = false): void {
  for (const [id, course] of coursesOf(records)) settleDocument(documentPath(place.dir, id), course, place, rewrite);
  for (const { appends } of records) for (const append of appends) settleLog(append, place.dir);
}

/** Makes everything the records tell of survive without them. */
export function syncFiles(records: readonly JournalRecord[], dir: string): void {
  const paths = new Set<string>();
  for (const { writes, appends } of records) {
    for (const { id } of writes) paths.add(documentPath(dir, id));
    for (const { log } of appends) paths.add(logPath(dir, log));
  }
  const folders = new Set<string>([dir]);
  for (const path of paths) {
    syncFile(path);
    for (let folder = dirname(path); folder.length > dir.length; folder = dirname(folder)) folders.add(folder);
  }
  for (const folder of folders) syncFolderIfThere(folder);
}

/** One is not there when a power cut took it and all that was in it had been removed. */
function syncFolderIfThere(folder: string): void {
  try {
    syncFolder(folder);
  } catch (error) {
    // mutant: documents-lost-folder: if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw → throw
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

/** Whether settling these would write anything. */
export function isBehind(records: readonly JournalRecord[], dir: string): boolean {
  for (const [id, course] of coursesOf(records)) {
    const text = readText(documentPath(dir, id));
    if (seenThrough(course, text) !== text) return true;
  }
  return records.some(({ appends }) => appends.some((append) => isMissing(append, dir)));
}

/** What a reader should take for the content of the file. */
export function seenThrough(course: Course | undefined, text: string | null): string | null {
  if (course === undefined) return text;
  const isOurs = course.known.has(text === null ? null : identityOf(text));
  return isOurs || (text !== null && !isJson(text)) ? course.text : text;
}

/** By document, for readers that come before anybody has settled the records. */
export function coursesOf(records: readonly JournalRecord[]): Map<string, Course> {
  const courses = new Map<string, Course>();
  for (const { writes } of records)
    for (const { id, before, after, text } of writes) {
      const course = courses.get(id) ?? { known: new Set(), after, text };
      course.known.add(before).add(after);
      courses.set(id, Object.assign(course, { after, text }));
    }
  return courses;
}

function settleDocument(path: string, { known, after, text }: Course, place: Place, rewrite: boolean): void {
  const found = readText(path);
  const identity = found === null ? null : identityOf(found);
  if (identity === after && !rewrite) return;
  if (!known.has(identity)) {
    // mutant: documents-foreign: if (found === null || isJson(found)) return; → if (found === null) return;
    if (found === null || isJson(found)) return;
    if (holdsSomething(found)) {
      quarantine(path, place.now());
      replaceDocument(path, text, place.fresh, false);
      return;
    }
  }
  replaceDocument(path, text, place.fresh, found !== null);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function holdsSomething(text: string): boolean {
  return !/^\0*$/.test(text);
}

function settleLog({ log, at, text }: LogAppend, dir: string): void {
  const path = logPath(dir, log);
  try {
    const fd = openLog(path);
    try {
      writeLog(fd, at, Buffer.from(text));
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    throw ioError(error, "append to", path);
  }
}

/** With its folder, if this is the first line in there. */
function openLog(path: string): number {
  try {
    return openOrMake(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    makeFolder(dirname(path));
    return openOrMake(path);
  }
}

function writeLog(fd: number, at: number, bytes: Buffer): void {
  if (!isComplete(fd, at, bytes)) writeFully(fd, bytes, at);
}

/** Whether there is nothing to write: the lines are there, or somebody else has put his hand to it. */
function isComplete(fd: number, at: number, bytes: Buffer): boolean {
  const { size } = fstatSync(fd);
  if (size < at) return true; // Somebody has made it shorter since: not for us to fill.
  const there = Buffer.alloc(Math.min(bytes.length, size - at));
  readSync(fd, there, 0, there.length, at);
  // A byte that is neither ours nor nothing was written by somebody else.
  return there.some((byte, index) => byte !== 0 && byte !== bytes[index]) || there.equals(bytes);
}

function isMissing({ log, at, text }: LogAppend, dir: string): boolean {
  let fd: number;
  try {
    fd = openSync(logPath(dir, log), "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return at === 0;
    throw ioError(error, "read", logPath(dir, log));
  }
  try {
    return !isComplete(fd, at, Buffer.from(text));
  } finally {
    closeSync(fd);
  }
}

function syncFile(path: string): void {
  let fd: number;
  try {
    fd = openSync(path, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw ioError(error, "sync", path);
  }
  try {
    fsyncSync(fd);
  } catch (error) {
    throw ioError(error, "sync", path);
  } finally {
    closeSync(fd);
  }
}
