/**
 * Builds the index of a pack in the making. Records of stored objects are kept in memory up to a number; then they are
 * sorted and written beside the pack as a run, of which only a little is kept to find things again. At the end the runs
 * become one index: hashes are spread evenly, so those that begin with the same byte are a small part of each run.
 * Memory is the same for a million objects as for the first run full of them. A crash leaves the runs in the folder of
 * a snapshot that was never published.
 */
import { createHash } from "node:crypto";
import { closeSync, fsyncSync, openSync, unlinkSync } from "node:fs";
import { writeFully } from "../../../files/durable-file.js";
import { createFile, READ_ONLY } from "../../../platform/folder-rights.js";
import { type Bloom, createBloom } from "./bloom.js";
import { createSampler, type IndexTable, openTable, readWhole } from "./index-table.js";
import { HASH_BYTES, INDEX_HEAD, INDEX_RECORD_BYTES } from "./object-format.js";
import { createOpenFiles, type OpenFiles } from "./open-files.js";

const RUN_RECORDS = 1 << 15;
/** What there is room for at first: a snapshot after a few changes stores little. */
const FIRST_RECORDS = 1 << 9;
const BITS_A_RECORD = 16;

export interface IndexRuns {
  readonly isEmpty: boolean;
  has(sha256: Buffer): boolean;
  note(sha256: Buffer, offset: number, length: number): void;
  /** Writes and syncs the index; the runs are gone. */
  finish(path: string): void;
  abandon(): void;
}

interface Run {
  readonly path: string;
  readonly bloom: Bloom;
  readonly table: IndexTable;
  /** How many records begin with each byte. */
  readonly counts: Uint32Array;
  /** How many bytes of it are in the index already. */
  merged: number;
}

/** Runs are called `base` and a number. `most` is a power of two. */
export function createIndexRuns(base: string, most = RUN_RECORDS): IndexRuns {
  const recent = createRecentRecords(most);
  const files = createOpenFiles();
  const runs: Run[] = [];

  const spill = (): void => {
    const path = `${base}.run-${runs.length}`;
    const bloom = createBloom(most * BITS_A_RECORD);
    const sampler = createSampler(recent.count);
    const records = recent.sorted();
    sampler.take(records);
    const counts = new Uint32Array(256);
    for (let at = 0; at < records.length; at += INDEX_RECORD_BYTES) {
      bloom.add(records.subarray(at, at + HASH_BYTES));
      counts[records[at] ?? 0] = (counts[records[at] ?? 0] ?? 0) + 1;
    }
    writeRun(path, records);
    const source = { count: recent.count, records: null, samples: sampler.samples };
    runs.push({ path, bloom, table: openTable(source, files, path, 0), counts, merged: 0 });
    recent.clear();
  };

  return {
    get isEmpty() {
      return runs.length === 0 && recent.count === 0;
    },
    has: (sha256) =>
      // mutant: tree-index-runs: ) && table.search(sha256) >= 0 → ) && table.search(sha256) >= table.count
      recent.has(sha256) || runs.some(({ bloom, table }) => bloom.mayHave(sha256) && table.search(sha256) >= 0),
    note(sha256, offset, length) {
      if (recent.count === most) spill();
      recent.add(sha256, offset, length);
    },
    finish(path) {
      if (runs.length > 0) spill();
      writeIndex(path, runs.length === 0 ? [recent.sorted()] : merged(runs, files));
      files[Symbol.dispose]();
      for (const run of runs) unlinkSync(run.path);
    },
    abandon: () => files[Symbol.dispose](),
  };
}

/** Pieces of the whole index, in order. */
function* merged(runs: readonly Run[], files: OpenFiles): Generator<Buffer> {
  for (let first = 0; first < 256; first += 1) {
    const bytesIn = ({ counts }: Run): number => (counts[first] ?? 0) * INDEX_RECORD_BYTES;
    const alike = Buffer.allocUnsafe(runs.reduce((sum, run) => sum + bytesIn(run), 0));
    let filled = 0;
    for (const run of runs) {
      const length = bytesIn(run);
      readWhole(files.fdOf(run.path), alike.subarray(filled), length, run.merged);
      run.merged += length;
      filled += length;
    }
    yield sortedRecords(alike);
  }
}

function writeRun(path: string, records: Buffer): void {
  const fd = openSync(path, "wx", 0o600);
  try {
    writeFully(fd, records, 0);
  } finally {
    closeSync(fd);
  }
}

function writeIndex(path: string, pieces: Iterable<Buffer>): void {
  const digest = createHash("sha256");
  const fd = createFile(path, "wx", READ_ONLY);
  let written = 0;
  const write = (bytes: Buffer): void => {
    writeFully(fd, bytes, written);
    written += bytes.length;
  };
  try {
    digest.update(INDEX_HEAD);
    write(INDEX_HEAD);
    for (const piece of pieces) {
      digest.update(piece);
      write(piece);
    }
    write(digest.digest());
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

interface RecentRecords {
  readonly count: number;
  has(sha256: Buffer): boolean;
  add(sha256: Buffer, offset: number, length: number): void;
  sorted(): Buffer;
  clear(): void;
}

/** Records one after the other, found by a table of their numbers: no object for any of them. */
function createRecentRecords(most: number): RecentRecords {
  let records = Buffer.allocUnsafeSlow(Math.min(FIRST_RECORDS, most) * INDEX_RECORD_BYTES);
  let slots = new Uint32Array(Math.min(FIRST_RECORDS, most) * 2);
  let count = 0;
  /** Where it is, or where it would be. */
  const slotOf = (sha256: Buffer): number => {
    let slot = sha256.readUInt32LE(0) & (slots.length - 1);
    for (let number = slots[slot] ?? 0; number !== 0; number = slots[slot] ?? 0) {
      const at = (number - 1) * INDEX_RECORD_BYTES;
      if (records.compare(sha256, 0, HASH_BYTES, at, at + HASH_BYTES) === 0) break;
      slot = (slot + 1) & (slots.length - 1);
    }
    return slot;
  };
  const grow = (): void => {
    const before = records;
    records = Buffer.allocUnsafeSlow(before.length * 2);
    before.copy(records);
    slots = new Uint32Array(slots.length * 2);
    for (let number = 0; number < count; number += 1)
      slots[slotOf(records.subarray(number * INDEX_RECORD_BYTES))] = number + 1;
  };
  return {
    get count() {
      return count;
    },
    has: (sha256) => slots[slotOf(sha256)] !== 0,
    add(sha256, offset, length) {
      if ((count + 1) * INDEX_RECORD_BYTES > records.length) grow();
      const slot = slotOf(sha256);
      if (slots[slot] !== 0) return;
      const at = count * INDEX_RECORD_BYTES;
      sha256.copy(records, at, 0, HASH_BYTES);
      records.writeUIntBE(offset, at + HASH_BYTES, 6);
      records.writeUIntBE(length, at + HASH_BYTES + 6, 6);
      count += 1;
      slots[slot] = count;
    },
    sorted: () => sortedRecords(records.subarray(0, count * INDEX_RECORD_BYTES)),
    clear() {
      slots.fill(0);
      count = 0;
    },
  };
}

function sortedRecords(records: Buffer): Buffer {
  const count = records.length / INDEX_RECORD_BYTES;
  const prefixes = Float64Array.from({ length: count }, (_, number) =>
    records.readUIntBE(number * INDEX_RECORD_BYTES, 6),
  );
  const bytesOf = (number: number): Buffer =>
    records.subarray(number * INDEX_RECORD_BYTES, (number + 1) * INDEX_RECORD_BYTES);
  const order = Uint32Array.from({ length: count }, (_, number) => number).sort(
    (a, b) => (prefixes[a] ?? 0) - (prefixes[b] ?? 0) || Buffer.compare(bytesOf(a), bytesOf(b)),
  );
  const sorted = Buffer.allocUnsafe(records.length);
  for (const [at, number] of order.entries()) bytesOf(number).copy(sorted, at * INDEX_RECORD_BYTES);
  return sorted;
}
