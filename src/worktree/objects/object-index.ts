/**
 * Which objects there are, and where. Each index file is kept as it is on the disk, in memory that threads share, and
 * searched by halves: 44 bytes an object, however many there are.
 */
import { hash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { HoldfastError, ioError } from "../../support/errors.js";
import { HASH_BYTES, INDEX_FILE, INDEX_HEAD, INDEX_RECORD_BYTES, IS_LARGE, largePath } from "./object-format.js";

/** One index file; can be handed to another thread. */
export interface IndexPart {
  /** The folder of the snapshot it belongs to. */
  readonly folder: string;
  readonly file: string;
  readonly records: SharedArrayBuffer;
}

export interface ObjectPlace {
  /** The pack, or the object's own file. */
  readonly path: string;
  readonly offset: number;
  readonly length: number;
  readonly isLarge: boolean;
  /** Which part, and which record in it. */
  readonly part: number;
  readonly record: number;
}

export interface ObjectIndex {
  readonly parts: readonly IndexPart[];
  find(sha256: Buffer): ObjectPlace | null;
  /** All objects of a part, by hash. */
  list(part: number): Generator<ObjectPlace & { readonly sha256: string }>;
}

export function createObjectIndex(parts: readonly IndexPart[]): ObjectIndex {
  const tables = parts.map(({ records }) => Buffer.from(records));
  const placeAt = (part: number, record: number): ObjectPlace => {
    const { folder, file } = parts[part] ?? { folder: "", file: "" };
    const table = tables[part] ?? Buffer.alloc(0);
    const at = record * INDEX_RECORD_BYTES;
    const offset = table.readUIntBE(at + HASH_BYTES, 6);
    const length = table.readUIntBE(at + HASH_BYTES + 6, 6);
    const isLarge = offset === IS_LARGE;
    const path = isLarge
      ? largePath(folder, table.toString("hex", at, at + HASH_BYTES))
      : join(folder, file.slice(0, -".idx".length));
    return { path, offset: isLarge ? 0 : offset, length, isLarge, part, record };
  };
  return {
    parts,
    find(sha256) {
      for (let part = tables.length - 1; part >= 0; part -= 1) {
        const record = search(tables[part] ?? Buffer.alloc(0), sha256);
        if (record >= 0) return placeAt(part, record);
      }
      return null;
    },
    *list(part) {
      const table = tables[part] ?? Buffer.alloc(0);
      for (let record = 0; record * INDEX_RECORD_BYTES < table.length; record += 1) {
        const at = record * INDEX_RECORD_BYTES;
        yield { ...placeAt(part, record), sha256: table.toString("hex", at, at + HASH_BYTES) };
      }
    },
  };
}

function search(table: Buffer, sha256: Buffer): number {
  let low = 0;
  let high = table.length / INDEX_RECORD_BYTES - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const at = middle * INDEX_RECORD_BYTES;
    const order = table.compare(sha256, 0, HASH_BYTES, at, at + HASH_BYTES);
    if (order === 0) return middle;
    if (order < 0) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}

/** The indexes in these folders. One that cannot be trusted is `E_STORE_CORRUPT`, unless `skipBad` says to do without it. */
export function loadIndexParts(folders: readonly string[], skipBad?: (error: HoldfastError) => void): IndexPart[] {
  const parts: IndexPart[] = [];
  for (const folder of folders)
    for (const file of indexFilesIn(folder)) {
      try {
        parts.push({ folder, file, records: readIndex(join(folder, file)) });
      } catch (error) {
        if (skipBad === undefined || !(error instanceof HoldfastError)) throw error;
        skipBad(error);
      }
    }
  return parts;
}

function indexFilesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => INDEX_FILE.test(name))
      .sort();
  } catch (error) {
    if (!existsSync(folder)) return []; // Removed since it was listed.
    throw ioError(error, "list", folder);
  }
}

function readIndex(path: string): SharedArrayBuffer {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    throw ioError(error, "read", path);
  }
  const body = bytes.subarray(0, Math.max(0, bytes.length - HASH_BYTES));
  const isWhole =
    body.subarray(0, INDEX_HEAD.length).equals(INDEX_HEAD) &&
    (body.length - INDEX_HEAD.length) % INDEX_RECORD_BYTES === 0 &&
    hash("sha256", body, "buffer").equals(bytes.subarray(body.length));
  if (!isWhole)
    throw new HoldfastError("E_STORE_CORRUPT", `${path} is not what was written: its checksum differs`, {
      details: { path },
    });
  const records = new SharedArrayBuffer(body.length - INDEX_HEAD.length);
  body.copy(Buffer.from(records), 0, INDEX_HEAD.length);
  return records;
}
