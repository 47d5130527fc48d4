/** Reads a manifest piece by piece, checking the root hash first and the order of lines on the way. */
import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { HoldfastError, ioError } from "../../../base/errors.js";
import type { ObjectReader } from "../objects/object-reader.js";
import { comparePaths, type Entry, parseEntry } from "./entry.js";

export interface Manifest {
  readonly pieces: readonly string[];
}

/** `E_STORE_CORRUPT` when the list is not the one the root hash was taken of. */
export function readManifest(path: string, rootHash: string): Manifest {
  let text: Buffer;
  try {
    text = readFileSync(path);
  } catch (error) {
    throw ioError(error, "read", path);
  }
  if (hash("sha256", text, "hex") !== rootHash)
    throw new HoldfastError("E_STORE_CORRUPT", `${path} does not have the hash that its descriptor names`, {
      details: { path },
    });
  const pieces = text.toString("latin1").split("\n").slice(0, -1);
  if (!pieces.every((piece) => /^[0-9a-f]{64}$/.test(piece)))
    throw new HoldfastError("E_STORE_CORRUPT", `${path} is no list of hashes`, { details: { path } });
  return { pieces };
}

export function* entriesOfPiece(reader: ObjectReader, piece: string): Generator<Entry> {
  const text = reader.read(piece).toString("utf8");
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf("\n", at);
    yield parseEntry(text.slice(at, end < 0 ? undefined : end));
    at = end < 0 ? text.length : end + 1;
  }
}

/** All entries in order. Lines out of order, or twice, are `E_STORE_CORRUPT`: what writes a tree relies on it. */
export function* entriesOf(reader: ObjectReader, { pieces }: Manifest): Generator<Entry> {
  let last: string | null = null;
  for (const piece of pieces)
    for (const entry of entriesOfPiece(reader, piece)) {
      if (last === null ? entry.path !== "" : comparePaths(last, entry.path) >= 0)
        throw new HoldfastError("E_STORE_CORRUPT", `the manifest has ${JSON.stringify(entry.path)} out of order`);
      last = entry.path;
      yield entry;
    }
}
