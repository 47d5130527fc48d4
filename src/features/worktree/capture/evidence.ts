/**
 * Evidence of a file's content from outside: kind, mode, size, mtime and ctime in nanoseconds, inode. Two uses:
 *
 *   - The same evidence as in the cache means the same content: the file is not read again.
 *   - The same evidence before and after a capture, for everything in the tree, means that nothing changed meanwhile: each
 *     file was then as it was captured at the moment between the two walks.
 *
 * The kernel stamps times from a clock that ticks every few milliseconds. A file stamped within a tick of the moment it
 * was examined could change again and look the same, also when it is replaced by one of the same size and mtime. Such a
 * file is *racy*: its evidence proves nothing, so the cache does not vouch for it, and a capture reads it twice.
 *
 * Not noticed: writes through a memory map that the kernel has not stamped yet, and a clock that is set back.
 */
import type { Seen } from "./walk.js";

/** Longer than any tick of a kernel's coarse clock (10 ms at 100 Hz). */
const GRAIN_NS = 20_000_000n;

export function evidenceOf({ kind, stats, target }: Seen): string {
  const { mode, size, mtimeNs, ctimeNs, ino } = stats;
  const what = kind === "symlink" ? JSON.stringify(target) : kind === "folder" ? "-" : String(size);
  return `${kind} ${mode & 0o7777n} ${what} ${mtimeNs} ${ctimeNs} ${ino}`;
}

/** `wallMs` from before it was looked at. */
export function isRacy({ stats }: Seen, wallMs: number): boolean {
  const limit = BigInt(Math.floor(wallMs)) * 1_000_000n - GRAIN_NS;
  return stats.ctimeNs >= limit || stats.mtimeNs >= limit;
}
