/** Writes one pack and the index of what it, and its thread's large objects, hold. Nothing is seen of it until its snapshot is. */
import { hash } from "node:crypto";
import { closeSync, fsyncSync, openSync } from "node:fs";
import { join } from "node:path";
import { writeFully } from "../../support/durable-file.js";
import {
  HASH_BYTES,
  INDEX_HEAD,
  INDEX_RECORD_BYTES,
  IS_LARGE,
  indexName,
  PACK_HEAD,
  packName,
  RECORD_HEAD_BYTES,
} from "./object-format.js";

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

interface Stored {
  readonly offset: number;
  readonly length: number;
}

export function createPackWriter(folder: string, thread: number): PackWriter {
  const stored = new Map<string, Stored>();
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
    fd ??= openSync(join(folder, packName(thread)), "wx", 0o444);
    if (filled + bytes.length > BUFFER_BYTES) flush();
    if (bytes.length > BUFFER_BYTES) {
      writeFully(fd, bytes, written);
      written += bytes.length;
      return;
    }
    bytes.copy(buffer, filled);
    filled += bytes.length;
  };
  const note = (sha256: Buffer, offset: number, length: number): void => {
    stored.set(sha256.toString("latin1"), { offset, length });
  };
  const close = (): void => {
    if (fd !== null) closeSync(fd);
    fd = null;
  };

  return {
    has: (sha256) => stored.has(sha256.toString("latin1")),
    add(sha256, content) {
      if (written + filled === 0) append(PACK_HEAD);
      const head = Buffer.allocUnsafe(RECORD_HEAD_BYTES);
      sha256.copy(head);
      head.writeUIntBE(content.length, HASH_BYTES, 6);
      append(head);
      note(sha256, written + filled, content.length);
      append(content);
    },
    noteLarge: (sha256, length) => note(sha256, IS_LARGE, length),
    finish() {
      flush();
      if (fd !== null) fsyncSync(fd);
      close();
      if (stored.size > 0) writeIndex(join(folder, indexName(thread)), stored);
    },
    abandon: close,
  };
}

function writeIndex(path: string, stored: ReadonlyMap<string, Stored>): void {
  const body = Buffer.allocUnsafe(INDEX_HEAD.length + stored.size * INDEX_RECORD_BYTES);
  INDEX_HEAD.copy(body);
  let at = INDEX_HEAD.length;
  for (const key of [...stored.keys()].sort()) {
    const { offset, length } = stored.get(key) ?? { offset: 0, length: 0 };
    body.write(key, at, "latin1");
    body.writeUIntBE(offset, at + HASH_BYTES, 6);
    body.writeUIntBE(length, at + HASH_BYTES + 6, 6);
    at += INDEX_RECORD_BYTES;
  }
  const fd = openSync(path, "wx", 0o444);
  try {
    writeFully(fd, Buffer.concat([body, hash("sha256", body, "buffer")]), 0);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
