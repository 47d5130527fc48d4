/**
 * Writes one pack and the index of its objects and of its thread's large objects. Readers see nothing of it until its
 * snapshot is published.
 */
import { closeSync, fsyncSync } from "node:fs";
import { join } from "node:path";
import { writeFully } from "../../../files/durable-file.js";
import { createFile, READ_ONLY } from "../../../platform/folder-rights.js";
import { createIndexRuns } from "./index-runs.js";
import { HASH_BYTES, IS_LARGE, indexName, PACK_HEAD, packName, RECORD_HEAD_BYTES } from "./object-format.js";

const BUFFER_BYTES = 1 << 20;

export interface PackWriter {
  /** True when this writer has stored it already. */
  has(sha256: Buffer): boolean;
  add(sha256: Buffer, content: Buffer): void;
  /** Notes an object that has a file of its own. */
  noteLarge(sha256: Buffer, length: number): void;
  /** Syncs pack and index. Writes nothing when nothing was stored. */
  finish(): void;
  /** After a failure: lets the file go. */
  abandon(): void;
}

export function createPackWriter(folder: string, thread: number): PackWriter {
  const stored = createIndexRuns(join(folder, packName(thread)));
  const buffer = Buffer.allocUnsafe(BUFFER_BYTES);
  let fd: number | null = null;
  let filled = 0;
  let written = 0;

  const flush = (): void => {
    if (fd === null || filled === 0) return;
    writeFully(fd, buffer.subarray(0, filled), written);
    written += filled;
    filled = 0;
  };
  const append = (bytes: Buffer): void => {
    fd ??= createFile(join(folder, packName(thread)), "wx", READ_ONLY);
    if (filled + bytes.length > BUFFER_BYTES) flush();
    if (bytes.length > BUFFER_BYTES) {
      writeFully(fd, bytes, written);
      written += bytes.length;
      return;
    }
    bytes.copy(buffer, filled);
    filled += bytes.length;
  };
  const close = (): void => {
    if (fd !== null) closeSync(fd);
    fd = null;
  };

  return {
    has: (sha256) => stored.has(sha256),
    add(sha256, content) {
      if (written + filled === 0) append(PACK_HEAD);
      const head = Buffer.allocUnsafe(RECORD_HEAD_BYTES);
      sha256.copy(head);
      head.writeUIntBE(content.length, HASH_BYTES, 6);
      append(head);
      stored.note(sha256, written + filled, content.length);
      append(content);
    },
    noteLarge: (sha256, length) => stored.note(sha256, IS_LARGE, length),
    finish() {
      flush();
      if (fd !== null) fsyncSync(fd);
      close();
      if (!stored.isEmpty) stored.finish(join(folder, indexName(thread)));
    },
    abandon() {
      close();
      stored.abandon();
    },
  };
}
