/**
 * Captures a payload, the folder of a worktree: walks it, hashes the files that the cache does not vouch for, and
 * writes manifest, objects and the new cache into the folder of the snapshot in the making. Then a second walk checks
 * that nothing changed. Entries wait in order for their hashes; never more than a few thousand, so memory does not grow
 * with the tree.
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { HoldfastError, ioError } from "../../../base/errors.js";
import type { Clock } from "../../../platform/clock.js";
import type { Entry } from "../manifest/entry.js";
import { createManifestWriter, type ManifestSummary } from "../manifest/manifest-writer.js";
import type { IndexPart } from "../objects/object-index.js";
import { evidenceOf, isRacy } from "./evidence.js";
import { createHashPool } from "./hash-pool.js";
import { type FileResult, hashOfFile } from "./hasher.js";
import { createLineWriter } from "./line-files.js";
import { createLinkTable } from "./link-table.js";
import { createCacheWriter, openCacheLookup, readCache } from "./stat-cache.js";
import { type Seen, type Skipped, type WalkPlace, walk } from "./walk.js";

export interface CaptureRequest {
  readonly place: WalkPlace;
  readonly folder: string;
  readonly snapshotId: string;
  /** The cache to trust, or null. */
  readonly cache: string | null;
  readonly parts: readonly IndexPart[];
  readonly clock: Clock;
  /** Null: as many as are good here. 0: none, everything in this one. */
  readonly threads: number | null;
  readonly mustBeQuiet: boolean;
  readonly signal: AbortSignal | undefined;
  onProgress(files: number, bytes: number): void;
}

export interface Captured extends ManifestSummary {
  readonly skipped: number;
  readonly skippedHash: string;
  /** Files that were read, as opposed to known from the cache. */
  readonly read: number;
  /** Whether anything changed while it was captured; null when nobody looked. */
  readonly changed: string | null;
}

/** A file in line for its hash, or anything that only waits for those before it. */
interface Waiting {
  /** A file has its hash in it only when that is known. */
  readonly entry: Entry;
  readonly full: string;
  readonly evidence: string;
  readonly racy: boolean;
  /** It has other names, which come as links to this one. */
  readonly hasOtherNames: boolean;
  /** Undefined: not known yet. Null: it has none. */
  sha256: string | null | undefined;
  errno: string | null;
}

const MOST_WAITING = 2_048;
/** A pause for the event loop after this many entries. */
const BREATH = 1_000;

export async function capture(request: CaptureRequest): Promise<Captured> {
  const { folder, clock, mustBeQuiet } = request;
  const waiting: Waiting[] = [];
  const byNumber = new Map<number, Waiting>();
  const skippedDigest = createHash("sha256");
  /** Files with other names that have no entry: a link to one would lead nowhere. */
  const leftOut = new Set<string>();
  let skipped = 0;
  let read = 0;
  let files = 0;
  let bytes = 0;
  let changed: string | null = null;

  const count = (size: number): void => {
    files += 1;
    bytes += size;
  };
  const pool = createHashPool({ folder, parts: request.parts }, request.threads, (result: FileResult) => {
    const each = byNumber.get(result.number);
    byNumber.delete(result.number);
    if (each === undefined) return;
    each.sha256 = result.sha256;
    each.errno = result.errno;
    count(result.size);
    request.onProgress(files, bytes);
  });
  const manifest = createManifestWriter(join(folder, "manifest"), (sha256, content) => pool.store(sha256, content));
  const cache = createCacheWriter(join(folder, "cache"), request.snapshotId);
  const skips = createLineWriter(join(folder, "skipped"));
  const links = createLinkTable(join(folder, "links.new"));

  const skip = ({ path, why }: Omit<Skipped, "kind">): void => {
    skipped += 1;
    const line = JSON.stringify({ path, why });
    skippedDigest.update(`${line}\n`);
    skips.add(line);
  };
  const write = (each: Waiting): void => {
    const { entry, full, sha256 = null, errno, evidence, racy } = each;
    const { path } = entry;
    if (entry.kind === "file" && sha256 === null) {
      const isGone = errno === null || errno === "ENOENT";
      if (mustBeQuiet && !isGone) throw unreadable(full, errno);
      if (isGone) changed ??= path;
      // mutant: link-to-left-out: if (each.hasOtherNames) leftOut.add(path); →
      if (each.hasOtherNames) leftOut.add(path);
      skip({ path, why: isGone ? "it changed while it was read" : `unreadable: ${errno}` });
      return;
    }
    if (entry.kind === "hardlink" && leftOut.has(entry.to)) {
      skip({ path, why: `a hard link to ${entry.to}, which was left out` });
      return;
    }
    manifest.add(entry.kind === "file" ? { ...entry, sha256: sha256 ?? "" } : entry);
    cache.add({ evidence, racy, sha256, path });
  };
  /** Writes what has its hash, from the front, up to the first that has not. */
  const flush = (): void => {
    let done = 0;
    for (const each of waiting) {
      if (each.sha256 === undefined) break;
      write(each);
      done += 1;
    }
    waiting.splice(0, done);
  };

  try {
    using known = openCacheLookup(request.cache);
    let number = 0;
    let lookedAt = clock().wallMs;
    for (const seen of walk(request.place)) {
      if (number % BREATH === 0) {
        request.signal?.throwIfAborted();
        await setImmediate();
        request.onProgress(files, bytes);
        lookedAt = clock().wallMs; // Too early is safe: it only makes more files racy.
      }
      number += 1;
      if (seen.kind === "skipped") {
        skip(seen);
        continue;
      }
      const { full } = seen;
      const entry = entryOf(seen, seen.kind === "file" ? links.firstOf(seen) : null);
      const evidence = evidenceOf(seen);
      const each: Waiting = {
        entry,
        full,
        evidence,
        racy: isRacy(seen, lookedAt),
        hasOtherNames: seen.stats.nlink > 1n,
        sha256: null,
        errno: null,
      };
      if (entry.kind === "file") {
        const { path, size } = entry;
        const line = known.find(path);
        if (line !== null && !line.racy && line.sha256 !== null && line.evidence === evidence) {
          each.sha256 = line.sha256;
          count(size);
        } else {
          each.sha256 = undefined;
          byNumber.set(number, each);
          read += 1;
          const isFull = pool.add({ number, full, size, ino: String(seen.stats.ino) });
          if (isFull !== null) await isFull;
        }
      }
      if (waiting.length === 0 && each.sha256 !== undefined) write(each);
      else waiting.push(each);
      if (waiting.length >= MOST_WAITING) {
        flush();
        if (waiting.length >= MOST_WAITING) await pool.drain();
      }
    }
    await pool.drain();
    flush();
    request.onProgress(files, bytes);
    const summary = manifest.finish();
    cache.finish();
    skips.finish(true);
    links.finish();
    await pool.finish();
    // mutant: snapshot-second-walk: changed ??= await lookAgain(request, folder); →
    changed ??= await lookAgain(request, folder);
    if (mustBeQuiet && changed !== null) throw notQuiet(changed);
    return { ...summary, skipped, skippedHash: skippedDigest.digest("hex"), read, changed };
  } catch (error) {
    for (const file of [manifest, cache, skips, links]) file.abandon();
    await pool.abandon().catch(() => undefined);
    throw error;
  }
}

/** The microsecond it lies in, also before 1970. */
function microseconds(ns: bigint): number {
  const us = ns / 1_000n;
  return Number(us * 1_000n > ns ? us - 1n : us);
}

function entryOf({ kind, path, stats, target }: Seen, linkTo: string | null): Entry {
  const mode = Number(stats.mode & 0o7777n);
  const mtimeUs = microseconds(stats.mtimeNs);
  if (kind === "folder") return { kind, path, mode, mtimeUs };
  if (kind === "symlink") return { kind, path, mtimeUs, target };
  if (linkTo !== null) return { kind: "hardlink", path, to: linkTo };
  const size = Number(stats.size);
  return { kind, path, mode, mtimeUs, size, sha256: "", hasHoles: stats.blocks * 512n < stats.size };
}

/** Walks once more beside the cache that was just written. The first path that is not as it was, or null. */
async function lookAgain({ place, signal }: CaptureRequest, folder: string): Promise<string | null> {
  const before = readCache(join(folder, "cache"));
  try {
    let count = 0;
    for (const seen of walk(place)) {
      count += 1;
      if (count % BREATH === 0) {
        signal?.throwIfAborted();
        await setImmediate();
      }
      if (seen.kind === "skipped") continue;
      const line = before.next().value;
      if (line === undefined || line.path !== seen.path)
        return line === undefined ? seen.path : smaller(line.path, seen.path);
      if (line.evidence !== evidenceOf(seen)) return seen.path;
      if (line.racy && line.sha256 !== null && seen.kind === "file" && !hasContent(seen, line.sha256)) return seen.path;
    }
    return before.next().value?.path ?? null;
  } finally {
    before.return(undefined);
  }
}

function smaller(a: string, b: string): string {
  return a < b ? a : b;
}

/** What opening gives when a file is gone, or a link or a socket has its name. */
const REPLACED: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR", "ELOOP", "ENXIO"]);

/** Reads a racy file once more: its evidence alone proves nothing. */
function hasContent({ full }: Seen, sha256: string): boolean {
  try {
    return hashOfFile(full) === sha256;
  } catch (error) {
    if (REPLACED.has((error as NodeJS.ErrnoException).code ?? "")) return false;
    throw ioError(error, "read", full);
  }
}

function notQuiet(path: string): HoldfastError {
  return new HoldfastError(
    "E_CONSISTENCY_UNAVAILABLE",
    `${JSON.stringify(path)} changed while the snapshot was taken`,
    {
      details: { path },
      next: ["Quiet the writers and try again, or take what can be had with `--consistency best_effort`."],
    },
  );
}

function unreadable(full: string, errno: string): HoldfastError {
  return new HoldfastError("E_IO", `cannot read ${full}: ${errno}`, {
    details: { path: full, errno },
    next: [`Give this user the right to read ${full}, name it in .holdfastignore, or take a best_effort snapshot.`],
  });
}
