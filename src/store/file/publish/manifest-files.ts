/**
 * Keeps manifests as files, those of one target together:
 *
 *   manifests/<target>/<id>.json           the manifest; <target> is a hash of the target's path
 *   manifests/<target>/<id>.files.jsonl    its files, one a line, in the order they were found
 *   manifests/guard                        kernel-locked while a process reads the manifests of a target to change them
 *   locks/<tree>/publishing/<id>           exists while the manifest is pending, with its target and keys; in the tree of the
 *                                          key that it is published under, and in that of the target's own key
 *
 * A change of a manifest is part of a step on its tree: tree.json announces it (`manifests`), then the files here follow.
 * A crash between leaves it announced, and the next process in the guard of the tree writes it again.
 */
import { createHash } from "node:crypto";
import { closeSync, fsyncSync, openSync, readSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { HoldfastError, ioError } from "../../../base/errors.js";
import { removeQuietly, replaceFile, syncFolder, writeFully } from "../../../files/durable-file.js";
import { textIfThere } from "../../../files/if-there.js";
import type { Key } from "../../../lock/key.js";
import {
  byAge,
  fromManifestRecord,
  isManifest,
  isManifestFile,
  isNear,
  type Manifest,
  type ManifestFile,
  type ManifestRecord,
} from "../../../lock/manifest.js";
import { makeFolder, openOrMake } from "../../../platform/folder-rights.js";
import { namesIn } from "../../../platform/look-up.js";
import type { ManifestPage } from "../../contract.js";
import { parseBlock } from "../tree/block-file.js";

const READ_BYTES = 65_536;

export class ManifestFiles {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Carries out one announced change, again and again if need be. */
  write(record: ManifestRecord, publishing: string): void {
    const folder = this.#folderOf(record.target);
    try {
      makeSynced(folder);
    } catch (error) {
      throw ioError(error, "create", folder);
    }
    replaceFile(join(folder, `${record.id}.json`), Buffer.from(`${JSON.stringify(record)}\n`), true);
    this.point(record, publishing);
  }

  /**
   * The part of it in a tree that only the target's files belong to. The record is the other tree's: written from here, much
   * later, it could be an older one.
   */
  point(record: ManifestRecord, publishing: string): void {
    try {
      makeSynced(publishing);
    } catch (error) {
      throw ioError(error, "create", publishing);
    }
    const pointer = join(publishing, record.id);
    if (record.state !== "pending") removeQuietly(pointer);
    else replaceFile(pointer, Buffer.from(`${JSON.stringify(pointerTo(record))}\n`), true);
  }

  drop({ target, id }: Manifest): void {
    const folder = this.#folderOf(target);
    for (const name of [`${id}.files.jsonl`, `${id}.json`]) removeQuietly(join(folder, name));
  }

  addFiles({ target, id }: Manifest, files: readonly ManifestFile[], durable: boolean): void {
    const path = join(this.#folderOf(target), `${id}.files.jsonl`);
    try {
      const fd = openOrMake(path);
      try {
        const lines = Buffer.from(files.map((file) => `${JSON.stringify(file)}\n`).join(""));
        const size = statSync(path).size;
        writeFully(fd, lines, size);
        if (durable) fsyncSync(fd);
      } finally {
        closeSync(fd);
      }
    } catch (error) {
      throw ioError(error, "write", path);
    }
  }

  /** Those near one of the keys whose pointers are in this folder of a tree. */
  pending(publishing: string, keys: readonly Key[]): Manifest[] {
    return this.pointers(publishing).flatMap((id) => {
      const pointer = readJson<Pointer>(join(publishing, id));
      if (pointer === null) return [];
      if (!isPointer(pointer)) throw damaged(join(publishing, id));
      if (!isNear({ resource: pointer.resource, pathKey: pointer.path_key }, keys)) return [];
      const manifest = this.#read(join(this.#folderOf(pointer.target), `${id}.json`));
      return manifest?.state === "pending" ? [manifest] : [];
    });
  }

  /** The ids that are pointed to, without a look at their records. */
  pointers(publishing: string): string[] {
    return namesIn(publishing).filter((id) => !id.endsWith(".new"));
  }

  of(target: string): Manifest[] {
    return this.#in(this.#folderOf(target)).sort(byAge);
  }

  page({ target, state, after, limit }: ManifestPage): Manifest[] {
    const folders =
      target === null ? namesIn(this.#folder).map((name) => join(this.#folder, name)) : [this.#folderOf(target)];
    return folders
      .flatMap((folder) => this.#in(folder))
      .filter((each) => (state === null || each.state === state) && (after === null || byAge(each, after) > 0))
      .sort(byAge)
      .slice(0, limit);
  }

  files({ target, id }: Manifest, after: string | null, limit: number): ManifestFile[] {
    const found: ManifestFile[] = [];
    let isBehind = after === null;
    const path = join(this.#folderOf(target), `${id}.files.jsonl`);
    for (const line of linesOf(path)) {
      const file = fileIn(line, path);
      if (isBehind) found.push(file);
      else isBehind = file.path === after;
      if (found.length === limit) break;
    }
    return found;
  }

  #in(folder: string): Manifest[] {
    return namesIn(folder)
      .filter((name) => name.endsWith(".json"))
      .flatMap((name) => this.#read(join(folder, name)) ?? []);
  }

  #read(path: string): Manifest | null {
    const record = readJson<ManifestRecord>(path);
    if (record === null) return null;
    const manifest = fromManifestRecord(record);
    // mutant: manifest-shape: if (!isManifest(manifest) → if (path === ""
    if (!isManifest(manifest) || basename(path) !== `${manifest.id}.json`) throw damaged(path);
    return manifest;
  }

  #folderOf(target: string): string {
    return join(this.#folder, createHash("sha256").update(target).digest("hex").slice(0, 32));
  }
}

/** What a step needs to know whether it has to read the manifest. */
interface Pointer {
  readonly target: string;
  readonly resource: Key;
  readonly path_key: Key | null;
}

function isPointer({ target, resource, path_key }: Pointer): boolean {
  return [target, resource, path_key ?? ""].every((each) => typeof each === "string");
}

function pointerTo({ target, resource, path_key }: ManifestRecord): Pointer {
  return { target, resource: resource as Key, path_key: path_key as Key | null };
}

/** With its name, and that of a folder above it, on the disk. */
function makeSynced(path: string): void {
  const first = makeFolder(path);
  if (first !== undefined) {
    syncFolder(join(path, ".."));
    syncFolder(join(first, ".."));
  }
}

/** Null when it is not there. `E_STORE_CORRUPT` when it makes no sense. */
function readJson<T>(path: string): T | null {
  const text = textIfThere(path);
  if (text === null) return null;
  return parseBlock<T>(text, path);
}

function fileIn(line: string, path: string): ManifestFile {
  const file = parseBlock<ManifestFile>(line, path);
  // mutant: manifest-file-shape: if (!isManifestFile(file)) throw → if (path === "") throw
  if (!isManifestFile(file)) throw damaged(path);
  return file;
}

function damaged(path: string): HoldfastError {
  return new HoldfastError("E_STORE_CORRUPT", `${path} makes no sense`, { details: { path } });
}

/** Whole lines only: one that a crash cut short was never counted. */
function* linesOf(path: string): Generator<string> {
  let fd: number;
  try {
    fd = openSync(path, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw ioError(error, "read", path);
  }
  try {
    const bytes = Buffer.alloc(READ_BYTES);
    let rest = Buffer.alloc(0);
    for (let length = readSync(fd, bytes); length > 0; length = readSync(fd, bytes)) {
      rest = Buffer.concat([rest, bytes.subarray(0, length)]);
      for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
        yield rest.toString("utf8", 0, end);
        rest = rest.subarray(end + 1);
      }
    }
  } finally {
    closeSync(fd);
  }
}
