/**
 * Walks a payload in the order of manifests and yields its entries; it looks at names and stats only. Symbolic links
 * are never followed. What cannot be kept (a fifo, a socket, a device, a name that is not UTF-8) is yielded as skipped.
 * The marks of publishes do not belong to a payload: a restore would bring them back, and a publisher that was
 * overtaken since could publish again.
 */
import { type BigIntStats, lstatSync, readdirSync, readlinkSync } from "node:fs";
import { ioError } from "../../../base/errors.js";
import { MARKS_FOLDER } from "../../../files/target-mark.js";
import type { IgnoreRules } from "./ignore-rules.js";

export interface Seen {
  readonly kind: "folder" | "file" | "symlink";
  readonly path: string;
  readonly full: string;
  readonly stats: BigIntStats;
  /** Of a symbolic link. */
  readonly target: string;
}

export interface Skipped {
  readonly kind: "skipped";
  readonly path: string;
  readonly why: string;
}

export interface WalkPlace {
  readonly payload: string;
  /** Folders that are never part of a payload: the workspace's own. */
  readonly except: readonly string[];
  readonly rules: IgnoreRules;
}

/** A folder whose names are being gone through. */
interface Level {
  readonly path: string;
  readonly full: string;
  readonly names: readonly Name[];
  next: number;
}

export function* walk(place: WalkPlace): Generator<Seen | Skipped> {
  const stats = statOf(place.payload);
  if (stats === null || !stats.isDirectory())
    throw ioError(
      Object.assign(new Error("no folder"), { code: stats === null ? "ENOENT" : "ENOTDIR" }),
      "read",
      place.payload,
    );
  yield { kind: "folder", path: "", full: place.payload, stats, target: "" };
  const levels: Level[] = [{ path: "", full: place.payload, names: namesIn(place.payload), next: 0 }];
  for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
    const name = level.names[level.next];
    level.next += 1;
    if (name === undefined) levels.pop();
    else {
      const seen = look(place, level, name);
      if (seen !== null) yield seen;
      if (seen?.kind === "folder")
        levels.push({ path: seen.path, full: seen.full, names: namesIn(seen.full), next: 0 });
    }
  }
}

function look(place: WalkPlace, level: Level, name: Name): Seen | Skipped | null {
  if (typeof name !== "string")
    return { kind: "skipped", path: prefixed(level.path, name.shown), why: "the name is not UTF-8" };
  const path = prefixed(level.path, name);
  const full = `${level.full}/${name}`;
  if (place.except.includes(full)) return null;
  const stats = statOf(full);
  if (stats === null) return null; // Gone since it was listed; a capture notices by its evidence.
  // mutant: tree-marks: if (name === MARKS_FOLDER && stats.isDirectory()) return null; →
  if (name === MARKS_FOLDER && stats.isDirectory()) return null;
  if (place.rules.ignores(path, stats.isDirectory())) return null;
  const kind = kindOf(stats);
  if (kind === null) return { kind: "skipped", path, why: specialKind(stats) };
  const target = kind === "symlink" ? targetOf(full) : "";
  if (target === undefined) return null;
  if (target === null) return { kind: "skipped", path, why: "the target of the link is not UTF-8" };
  return { kind, path, full, stats, target };
}

type Name = string | { readonly shown: string };

/** Sorted by code units. Names that are not UTF-8 come last, escaped. */
function namesIn(folder: string): Name[] {
  try {
    const names = readdirSync(folder);
    if (!names.some((name) => name.includes("\ufffd"))) return names.sort();
    const exact = readdirSync(folder, { encoding: "buffer" });
    const valid = exact.filter(isUtf8).map((name) => name.toString("utf8"));
    return [...valid.sort(), ...exact.filter((name) => !isUtf8(name)).map((name) => ({ shown: escaped(name) }))];
  } catch (error) {
    if (isGone(error)) return []; // A capture notices by its evidence.
    throw ioError(error, "list", folder);
  }
}

function isUtf8(name: Buffer): boolean {
  return Buffer.from(name.toString("utf8"), "utf8").equals(name);
}

function escaped(name: Buffer): string {
  return name
    .toString("latin1")
    .replaceAll(/[^\x20-\x7e]/g, (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, "0")}`);
}

function prefixed(path: string, name: string): string {
  return path === "" ? name : `${path}/${name}`;
}

function statOf(path: string): BigIntStats | null {
  try {
    return lstatSync(path, { bigint: true, throwIfNoEntry: false }) ?? null;
  } catch (error) {
    throw ioError(error, "look at", path);
  }
}

function targetOf(path: string): string | null | undefined {
  try {
    const target = readlinkSync(path, { encoding: "buffer" });
    return isUtf8(target) ? target.toString("utf8") : null;
  } catch (error) {
    if (isGone(error)) return undefined;
    throw ioError(error, "read the link", path);
  }
}

function kindOf(stats: BigIntStats): Seen["kind"] | null {
  return stats.isFile() ? "file" : stats.isDirectory() ? "folder" : stats.isSymbolicLink() ? "symlink" : null;
}

function specialKind(stats: BigIntStats): string {
  if (stats.isFIFO()) return "a fifo";
  if (stats.isSocket()) return "a socket";
  return stats.isCharacterDevice() || stats.isBlockDevice() ? "a device" : "of an unknown kind";
}

function isGone(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR", "EINVAL"].includes((error as NodeJS.ErrnoException).code ?? "");
}
