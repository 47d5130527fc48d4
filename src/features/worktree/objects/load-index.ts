/**
 * Loads index files, and rejects those that are not as they were written. The newest are kept in memory, up to a limit
 * for all of them together; of the others a sample is kept, and they are searched in their files (index-table.ts).
 */
import { createHash } from "node:crypto";
import { closeSync, fstatSync, openSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { HoldfastError, ioError } from "../../../base/errors.js";
import { isThere } from "../../../platform/look-up.js";
import { CHUNK_BYTES, createSampler, readWhole, type TableSource } from "./index-table.js";
import { HASH_BYTES, INDEX_FILE, INDEX_HEAD, INDEX_RECORD_BYTES } from "./object-format.js";
import type { IndexPart } from "./object-index.js";

const MOST_IN_MEMORY = 8 << 20;

/** The indexes in these folders. One that cannot be trusted is `E_STORE_CORRUPT`, unless `skipBad` says to do without it. */
export function loadIndexParts(
  folders: readonly string[],
  skipBad?: (error: HoldfastError) => void,
  mostInMemory = MOST_IN_MEMORY,
): IndexPart[] {
  const parts: IndexPart[] = [];
  let room = mostInMemory;
  for (const folder of folders.toReversed())
    for (const file of indexFilesIn(folder).toReversed()) {
      try {
        const table = readIndex(join(folder, file), room);
        room -= table.records?.byteLength ?? 0;
        parts.push({ folder, file, ...table });
      } catch (error) {
        if (skipBad === undefined || !(error instanceof HoldfastError)) throw error;
        skipBad(error);
      }
    }
  return parts.reverse();
}

function indexFilesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => INDEX_FILE.test(name))
      .sort();
  } catch (error) {
    if (!isThere(folder)) return []; // Removed since it was listed.
    throw ioError(error, "list", folder);
  }
}

function readIndex(path: string, room: number): TableSource {
  let fd: number;
  try {
    fd = openSync(path, "r");
  } catch (error) {
    throw ioError(error, "read", path);
  }
  try {
    const table = readTable(fd, fstatSync(fd).size, room);
    if (table !== null) return table;
  } catch (error) {
    throw ioError(error, "read", path);
  } finally {
    closeSync(fd);
  }
  throw new HoldfastError("E_STORE_CORRUPT", `${path} is not what was written: its checksum differs`, {
    details: { path },
  });
}

/** Null when it is no index, or not the one that was written. */
function readTable(fd: number, size: number, room: number): TableSource | null {
  const bytes = size - INDEX_HEAD.length - HASH_BYTES;
  if (bytes < 0 || bytes % INDEX_RECORD_BYTES !== 0) return null;
  const chunk = Buffer.allocUnsafe(Math.max(HASH_BYTES, Math.min(CHUNK_BYTES, bytes)));
  const digest = createHash("sha256");
  readWhole(fd, chunk, INDEX_HEAD.length, 0);
  if (!chunk.subarray(0, INDEX_HEAD.length).equals(INDEX_HEAD)) return null;
  digest.update(INDEX_HEAD);
  const count = bytes / INDEX_RECORD_BYTES;
  const sampler = createSampler(count);
  const records = bytes <= room ? new SharedArrayBuffer(bytes) : null;
  for (let at = 0; at < bytes; at += CHUNK_BYTES) {
    const piece = chunk.subarray(0, Math.min(CHUNK_BYTES, bytes - at));
    readWhole(fd, piece, piece.length, INDEX_HEAD.length + at);
    digest.update(piece);
    sampler.take(piece);
    if (records !== null) piece.copy(Buffer.from(records), at);
  }
  readWhole(fd, chunk, HASH_BYTES, size - HASH_BYTES);
  if (!digest.digest().equals(chunk.subarray(0, HASH_BYTES))) return null;
  return { count, records, samples: sampler.samples };
}
