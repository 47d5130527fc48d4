/** Creates and replaces files in one step and, when asked, syncs them to the disk before it reports success. */

import { randomBytes } from "node:crypto";
import { closeSync, fstatSync, fsyncSync, openSync, renameSync, statSync, unlinkSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { ioError } from "../base/errors.js";
import { createFile, createFresh } from "../platform/folder-rights.js";

/** Writes everything or throws: a short write is gone on with, and an error of the disk is never taken for success. */
export function writeFully(fd: number, bytes: Buffer, at: number): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done, bytes.length - done, at + done);
}

/**
 * Replaces the file by a new one of this content: a reader sees the old one or the new one. Only one process at a time may
 * do so; a crash leaves `<path>.new`, which the next one writes over. Where several may, `placeSynced` does it.
 */
export function replaceFile(path: string, bytes: Buffer, durable: boolean): void {
  const fresh = `${path}.new`;
  try {
    const fd = createFresh(fresh);
    try {
      writeFully(fd, bytes, 0);
      // mutant: durable-content: if (durable) fsyncSync(fd); →
      if (durable) fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(fresh, path);
    // mutant: durable-name: if (durable) syncFolder(dirname(path)); → void dirname;
    if (durable) syncFolder(dirname(path));
  } catch (error) {
    removeQuietly(fresh);
    throw ioError(error, "replace", path);
  }
}

/**
 * Creates a file with its content on the disk; its name is as safe as the folder is. It has exactly this mode, or without
 * one the rights of its folder. `EEXIST` as the system says it.
 */
export function createSynced(path: string, bytes: Buffer, mode?: number): void {
  writeSynced(mode === undefined ? createFile(path) : openSync(path, "wx", mode), bytes);
}

/**
 * Puts a file with its content on the disk in one step. `name` links or renames the private file to the path, and any
 * number of processes may do so at once. A crash leaves the private file, `<path>.<random>`.
 */
export function placeSynced(path: string, bytes: Buffer, name: (fresh: string, path: string) => void): void {
  const fresh = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    createSynced(fresh, bytes);
    name(fresh, path);
    syncFolder(dirname(path));
  } finally {
    removeQuietly(fresh);
  }
}

/** Writes the content of a new file, syncs it and closes it. */
export function writeSynced(fd: number, bytes: Buffer): void {
  try {
    writeFully(fd, bytes, 0);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Makes the names in a folder survive a power cut. */
export function syncFolder(path: string): void {
  const fd = openSync(path, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Whether the path still names this open file. Counting its links is not enough: a backup may have linked it elsewhere. */
export function isNamed(fd: number, path: string): boolean {
  const named = statSync(path, { throwIfNoEntry: false });
  const { ino, dev } = fstatSync(fd);
  return named !== undefined && named.ino === ino && named.dev === dev;
}

/** Removes a file that may be gone already; any other failure is thrown. */
export function removeFile(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw ioError(error, "remove", path);
  }
}

export function removeQuietly(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // It was not there, which is all that was wanted.
  }
}
