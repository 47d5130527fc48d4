/**
 * The stage: a private folder in which the new tree is made. Whoever fills it may write there by any means (`path`), or
 * hand streams to `write`, which hashes what passes by while it is being written and begins to sync it while the next
 * file comes. What `write` knows of a file is used later if the file is still the same; only so many are remembered,
 * the others are read again, so memory does not grow with the tree.
 */
import { createHash } from "node:crypto";
import { fstatSync } from "node:fs";
import { type FileHandle, mkdir, open } from "node:fs/promises";
import { dirname, join, normalize, sep } from "node:path";
import { invalidArgument, ioError } from "../support/errors.js";
import type { Tell } from "./options.js";
import { Pool } from "./pool.js";

/** Files being synced at a time: also the limit of open ones. */
const WIDTH = 16;
const REMEMBERED = 16_384;
const KNOWN_FOLDERS = 1_024;

export type StageSource = string | Uint8Array | AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>;

export interface Stage {
  /** Write here what you like: it becomes the target. */
  readonly path: string;
  /** Aborts when the lease is lost: stop, nothing will be published. Null for a borrowed lease. */
  readonly signal: AbortSignal | null;
  /** Writes one file. Folders on the way are made. Resolves when it is written; it is synced meanwhile. */
  write(name: string, content: StageSource, options?: { readonly mode?: number }): Promise<void>;
}

/** What is known of a file as long as it is the same. */
export interface Written {
  readonly identity: string;
  readonly sha256: string;
}

export interface OpenStage extends Stage {
  readonly written: ReadonlyMap<string, Written>;
  /** Waits for what is under way. Throws what failed. */
  settle(): Promise<void>;
}

export function openStage(path: string, signal: AbortSignal | null, tell: Tell): OpenStage {
  const pool = new Pool(WIDTH);
  const written = new Map<string, Written>();
  const folders = new Set<string>([path]);
  let files = 0;
  let bytes = 0;

  const makeFolder = async (folder: string): Promise<void> => {
    if (folders.has(folder)) return;
    await mkdir(folder, { recursive: true });
    if (folders.size < KNOWN_FOLDERS) folders.add(folder);
  };

  const finish = async (name: string, file: FileHandle, sha256: string): Promise<void> => {
    try {
      await file.sync();
      if (written.size < REMEMBERED || written.has(name))
        written.set(name, { identity: identityOf(fstatSync(file.fd, { bigint: true })), sha256 });
    } catch (error) {
      throw ioError(error, "sync", join(path, name));
    } finally {
      await file.close();
    }
  };

  return {
    path,
    signal,
    written,
    async write(given, content, { mode } = {}) {
      const name = checkName(given);
      pool.assertFine();
      signal?.throwIfAborted();
      const full = join(path, name);
      written.delete(name);
      try {
        await makeFolder(dirname(full));
        const file = await open(full, "w", mode ?? 0o666);
        let sha256: string;
        try {
          if (mode !== undefined) await file.chmod(mode);
          const sum = await pour(content, file);
          sha256 = sum.sha256;
          bytes += sum.size;
        } catch (error) {
          await file.close();
          throw error;
        }
        await pool
          .add(() => finish(name, file, sha256))
          .catch(async (error) => {
            await file.close().catch(() => undefined);
            throw error;
          });
      } catch (error) {
        throw isSystemError(error) ? ioError(error, "write", full) : error;
      }
      files += 1;
      tell({ files, bytes });
    },
    async settle() {
      await pool.idle();
      pool.assertFine();
    },
  };
}

/** While a piece is on its way to the disk it is hashed. */
async function pour(content: StageSource, file: FileHandle): Promise<{ sha256: string; size: number }> {
  const hash = createHash("sha256");
  let size = 0;
  const pieces = typeof content === "string" || content instanceof Uint8Array ? [content] : content;
  for await (const piece of pieces) {
    const data = typeof piece === "string" ? Buffer.from(piece) : piece;
    const writing = writeFully(file, data);
    hash.update(data);
    size += data.byteLength;
    await writing;
  }
  return { sha256: hash.digest("hex"), size };
}

async function writeFully(file: FileHandle, data: Uint8Array): Promise<void> {
  for (let done = 0; done < data.byteLength; )
    done += (await file.write(data, done, data.byteLength - done)).bytesWritten;
}

/** `E_INVALID_ARGUMENT` for a name that leads out of the stage. */
function checkName(name: string): string {
  if (typeof name !== "string" || name === "" || name.includes("\0")) throw invalidArgument("name", "a path");
  const plain = normalize(name);
  if (plain.startsWith(sep) || plain === "." || plain.split(sep).includes("..") || plain.endsWith(sep))
    throw invalidArgument("name", `${name} is not the name of a file inside the stage`);
  return plain;
}

interface Facts {
  readonly ino: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
}

/** Changes with every change of the file. */
export function identityOf({ ino, size, mtimeNs, ctimeNs }: Facts): string {
  return `${ino}:${size}:${mtimeNs}:${ctimeNs}`;
}

function isSystemError(error: unknown): boolean {
  return typeof (error as NodeJS.ErrnoException).syscall === "string";
}
