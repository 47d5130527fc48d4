/**
 * The cache of a worktree: the evidence of each file when it was last read, in the order of the walk: a head, a line
 * for each entry, and at the end the SHA-256 of all before. It only saves work: without it the next snapshot reads
 * everything again. It counts only while the snapshot it names is there, because that one keeps the contents it vouches
 * for.
 *
 *   {"schema_version":1,"snapshot_id":"…"}
 *   evidence TAB clean or racy TAB sha256 or - TAB path, as JSON when it has quotes, backslashes or control characters
 *   sha256 of all the lines before
 */
import { createHash } from "node:crypto";
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { isThere } from "../../../platform/look-up.js";
import { comparePaths } from "../manifest/entry.js";
import { createLineWriter, readLines } from "./line-files.js";

export interface CacheLine {
  readonly evidence: string;
  readonly racy: boolean;
  readonly sha256: string | null;
  readonly path: string;
}

export interface CacheWriter {
  add(line: CacheLine): void;
  finish(): void;
  abandon(): void;
}

export function createCacheWriter(path: string, snapshotId: string): CacheWriter {
  const digest = createHash("sha256");
  const writer = createLineWriter(path, (bytes) => digest.update(bytes));
  writer.add(JSON.stringify({ schema_version: 1, snapshot_id: snapshotId }));
  return {
    add: ({ evidence, racy, sha256, path: name }) =>
      writer.add(
        `${evidence}\t${racy ? "racy" : "clean"}\t${sha256 ?? "-"}\t${isPlain(name) ? name : JSON.stringify(name)}`,
      ),
    finish: () => writer.finish(false, () => digest.digest("hex")),
    abandon: () => writer.abandon(),
  };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for; a class of Unicode takes ten times as long.
const NEEDS_QUOTES = /["\\\u0000-\u001f\u007f-\u009f]/;

function isPlain(name: string): boolean {
  return !NEEDS_QUOTES.test(name);
}

/** Which snapshot a cache belongs to, or null when it is missing or damaged. */
export function checkCache(path: string): string | null {
  if (!isThere(path)) return null;
  try {
    if (!hasItsHash(path)) return null;
    for (const head of readLines(path)) return (JSON.parse(head) as { snapshot_id: string }).snapshot_id;
    return null;
  } catch {
    return null;
  }
}

const LAST_LINE_BYTES = 65;

function hasItsHash(path: string): boolean {
  const fd = openSync(path, "r");
  try {
    const end = fstatSync(fd).size - LAST_LINE_BYTES;
    const digest = createHash("sha256");
    const chunk = Buffer.allocUnsafe(1 << 20);
    for (let at = 0; at < end; ) {
      const count = readSync(fd, chunk, 0, Math.min(chunk.length, end - at), at);
      digest.update(chunk.subarray(0, count));
      at += count;
    }
    readSync(fd, chunk, 0, LAST_LINE_BYTES, Math.max(0, end));
    return chunk.toString("latin1", 0, LAST_LINE_BYTES) === `${digest.digest("hex")}\n`;
  } finally {
    closeSync(fd);
  }
}

export function* readCache(path: string): Generator<CacheLine> {
  let isHead = true;
  for (const line of readLines(path)) {
    const first = line.indexOf("\t");
    const second = line.indexOf("\t", first + 1);
    const third = line.indexOf("\t", second + 1);
    if (!isHead && third > 0) {
      const sha256 = line.slice(second + 1, third);
      const name = line.slice(third + 1);
      yield {
        evidence: line.slice(0, first),
        racy: line.slice(first + 1, second) !== "clean",
        sha256: sha256 === "-" ? null : sha256,
        path: name.startsWith('"') ? (JSON.parse(name) as string) : name,
      };
    }
    isHead = false;
  }
}

/** Looks up paths in rising order. */
export interface CacheLookup extends Disposable {
  find(path: string): CacheLine | null;
}

export function openCacheLookup(path: string | null): CacheLookup {
  const lines = path === null ? null : readCache(path);
  const next = (): CacheLine | null => {
    const step = lines?.next();
    return step === undefined || step.done === true ? null : step.value;
  };
  let current = next();
  return {
    find(path_) {
      while (current !== null && current.path !== path_ && comparePaths(current.path, path_) < 0) current = next();
      return current !== null && current.path === path_ ? current : null;
    },
    [Symbol.dispose]() {
      lines?.return(undefined);
    },
  };
}
