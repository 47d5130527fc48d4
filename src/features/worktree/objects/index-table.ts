/**
 * The records of one index, sorted by hash and searched where they are: in memory that threads share, or in their file.
 * Of those in a file only every 64th hash is kept, eight bytes of it, so that a search is one read of a few kilobytes
 * and a million objects take no more memory than a thousand.
 */
import { readSync } from "node:fs";
import { HASH_BYTES, INDEX_RECORD_BYTES } from "./object-format.js";
import type { OpenFiles } from "./open-files.js";

/** Can be handed to another thread. */
export interface TableSource {
  readonly count: number;
  /** Null: they are in the file only. */
  readonly records: SharedArrayBuffer | null;
  readonly samples: SharedArrayBuffer;
}

export interface IndexTable {
  readonly count: number;
  /** The number of its record, or -1. */
  search(sha256: Buffer): number;
  /** Good until the next call. */
  record(number: number): Buffer;
}

const BLOCK_RECORDS = 64;
const BLOCK_BYTES = BLOCK_RECORDS * INDEX_RECORD_BYTES;
/** Reads of a whole table take so many blocks at a time. */
export const CHUNK_BYTES = 256 * BLOCK_BYTES;
const PREFIX_BYTES = 6;

/** Fed with the records from the first to the last, in pieces of whole blocks. */
export interface Sampler {
  readonly samples: SharedArrayBuffer;
  take(records: Buffer): void;
}

export function createSampler(count: number): Sampler {
  const samples = new SharedArrayBuffer(Math.ceil(count / BLOCK_RECORDS) * Float64Array.BYTES_PER_ELEMENT);
  const prefixes = new Float64Array(samples);
  let block = 0;
  return {
    samples,
    take(records) {
      for (let at = 0; at < records.length; at += BLOCK_BYTES, block += 1) prefixes[block] = prefixOf(records, at);
    },
  };
}

function prefixOf(bytes: Buffer, at: number): number {
  return bytes.readUIntBE(at, PREFIX_BYTES);
}

/** `start` is where the records begin in the file. */
export function openTable(source: TableSource, files: OpenFiles, path: string, start: number): IndexTable {
  return source.records === null
    ? tableInFile(source, files, path, start)
    : tableInMemory(Buffer.from(source.records), source.count);
}

function tableInMemory(records: Buffer, count: number): IndexTable {
  return {
    count,
    search: (sha256) => searchIn(records, count, sha256),
    record: (number) => records.subarray(number * INDEX_RECORD_BYTES, (number + 1) * INDEX_RECORD_BYTES),
  };
}

function tableInFile({ count, samples }: TableSource, files: OpenFiles, path: string, start: number): IndexTable {
  const prefixes = new Float64Array(samples);
  const chunk = Buffer.allocUnsafe(BLOCK_BYTES);
  let held = -1;
  /** Going through all of them reads each block once. */
  const block = (number: number): Buffer => {
    const length = Math.min(BLOCK_BYTES, (count - number * BLOCK_RECORDS) * INDEX_RECORD_BYTES);
    if (held !== number) {
      held = -1;
      readWhole(files.fdOf(path), chunk, length, start + number * BLOCK_BYTES);
      held = number;
    }
    return chunk.subarray(0, length);
  };
  return {
    count,
    search(sha256) {
      const prefix = prefixOf(sha256, 0);
      let last = lastAtMost(prefixes, prefix);
      // Blocks that begin alike: it may be in any of them, or at the end of the one before.
      for (; last >= 0; last -= 1) {
        const records = block(last);
        const found = searchIn(records, records.length / INDEX_RECORD_BYTES, sha256);
        if (found >= 0) return last * BLOCK_RECORDS + found;
        if ((prefixes[last] ?? 0) < prefix) return -1;
      }
      return -1;
    },
    record(number) {
      const at = (number % BLOCK_RECORDS) * INDEX_RECORD_BYTES;
      return block(Math.floor(number / BLOCK_RECORDS)).subarray(at, at + INDEX_RECORD_BYTES);
    },
  };
}

function lastAtMost(prefixes: Float64Array, prefix: number): number {
  let low = 0;
  let high = prefixes.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    if ((prefixes[middle] ?? 0) <= prefix) low = middle + 1;
    else high = middle - 1;
  }
  return high;
}

function searchIn(records: Buffer, count: number, sha256: Buffer): number {
  let low = 0;
  let high = count - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const at = middle * INDEX_RECORD_BYTES;
    const order = records.compare(sha256, 0, HASH_BYTES, at, at + HASH_BYTES);
    if (order === 0) return middle;
    if (order < 0) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}

/** `EIO` when the file is shorter than it was. */
export function readWhole(fd: number, into: Buffer, length: number, at: number): void {
  for (let done = 0; done < length; ) {
    const count = readSync(fd, into, done, length - done, at + done);
    if (count === 0) throw Object.assign(new Error("the file is cut short"), { code: "EIO" });
    done += count;
  }
}
