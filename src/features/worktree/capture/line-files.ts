/** Writes and reads files of lines from start to end, with constant memory. */
import { closeSync, fsyncSync, openSync, readSync } from "node:fs";
import { StringDecoder } from "node:string_decoder";
import { writeFully } from "../../../files/durable-file.js";
import { createFile } from "../../../platform/folder-rights.js";

const CHUNK_BYTES = 1 << 18;

export interface LineWriter {
  add(line: string): void;
  /** With `sync` it is on the disk. `last` is one more line, made when all before have been seen by `onBytes`. */
  finish(sync: boolean, last?: () => string): void;
  /** After a failure: lets the file go. */
  abandon(): void;
}

/** `onBytes` sees everything that is written. */
export function createLineWriter(path: string, onBytes?: (bytes: Buffer) => void): LineWriter {
  const fd = createFile(path);
  let lines: string[] = [];
  let length = 0;
  let written = 0;
  let isOpen = true;
  const close = (): void => {
    if (isOpen) closeSync(fd);
    isOpen = false;
  };
  const flush = (): void => {
    if (lines.length === 0) return;
    const bytes = Buffer.from(lines.join(""));
    onBytes?.(bytes);
    writeFully(fd, bytes, written);
    written += bytes.length;
    lines = [];
    length = 0;
  };
  return {
    add(line) {
      lines.push(line, "\n");
      length += line.length;
      if (length >= CHUNK_BYTES) flush();
    },
    finish(sync, last) {
      flush();
      if (last !== undefined) writeFully(fd, Buffer.from(`${last()}\n`), written);
      if (sync && written > 0) fsyncSync(fd); // Of an empty file there is only the name, and that is the folder's.
      close();
    },
    abandon: close,
  };
}

/** The lines without their ends. Stop early with `return()`, as a `for` loop does. */
export function* readLines(path: string): Generator<string> {
  const fd = openSync(path, "r");
  try {
    const decoder = new StringDecoder("utf8");
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    let rest = "";
    for (let count = readSync(fd, chunk); count > 0; count = readSync(fd, chunk)) {
      const lines = (rest + decoder.write(chunk.subarray(0, count))).split("\n");
      rest = lines.pop() ?? "";
      yield* lines;
    }
    if (rest !== "") yield rest;
  } finally {
    closeSync(fd);
  }
}
