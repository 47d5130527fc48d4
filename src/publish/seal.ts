/**
 * Sealing a stage: every file is hashed and synced, then every folder, and all of it goes on record. Files are met one
 * after the other and worked on a few at a time; their entries go to the store in batches. So neither the number of files
 * nor their size matters to memory. Nothing but files, folders and links can be published.
 */
import { createHash } from "node:crypto";
import { lstatSync, readlinkSync } from "node:fs";
import { type FileHandle, open, opendir } from "node:fs/promises";
import { join, relative } from "node:path";
import type { Manifest, ManifestFile } from "../lock/manifest.js";
import { HoldfastError, invalidArgument, ioError } from "../support/errors.js";
import { identityAt } from "../support/exchange.js";
import type { Tell } from "./options.js";
import { Pool } from "./pool.js";
import type { Hand } from "./publisher.js";
import { identityOf, type OpenStage } from "./stage.js";

const WIDTH = 16;
const BATCH = 500;
const READ_BYTES = 65_536;

export async function sealStage(hand: Hand, manifest: Manifest, stage: OpenStage, tell: Tell): Promise<Manifest> {
  const identity = identityAt(stage.path);
  if (identity === null) throw new HoldfastError("E_IO", `${stage.path} is gone`, { details: { path: stage.path } });
  let batch: ManifestFile[] = [];
  let files = 0;
  let bytes = 0;
  tell({ phase: "sealing", files, bytes });

  const note = async (file: ManifestFile): Promise<void> => {
    batch.push(file);
    files += 1;
    bytes += file.size;
    tell({ files, bytes });
    if (batch.length < BATCH) return;
    const full = batch;
    batch = [];
    await hand.step((manifests, grant) => manifests.addFiles(grant, manifest, full));
  };

  const pool = new Pool(WIDTH);
  try {
    await walk(stage.path, stage, pool, note);
  } finally {
    await pool.idle();
  }
  pool.assertFine();
  const last = batch;
  return hand.step((manifests, grant) =>
    manifests.seal(grant, manifest, { identity, fileCount: files, byteCount: bytes }, last),
  );
}

async function walk(
  folder: string,
  stage: OpenStage,
  pool: Pool,
  note: (file: ManifestFile) => Promise<void>,
): Promise<void> {
  for await (const entry of await opendir(folder)) {
    const full = join(folder, entry.name);
    if (entry.isDirectory()) await walk(full, stage, pool, note);
    else {
      const known = entry.isFile() ? knownFile(full, stage) : entry.isSymbolicLink() ? linkAt(full, stage) : undefined;
      if (known === undefined) throw invalidArgument("stage", `${full} is neither file nor folder nor link`);
      if (known !== null) await note(known);
      else await pool.add(async () => note(await readAndSync(full, stage)));
    }
  }
  await pool.add(() => syncOnly(folder));
}

/** A file that `write` has hashed and synced, and that nobody has touched since. */
function knownFile(full: string, { path, written }: OpenStage): ManifestFile | null {
  const name = relative(path, full);
  const before = written.get(name);
  if (before === undefined) return null;
  const found = lstatSync(full, { bigint: true });
  if (identityOf(found) !== before.identity) return null;
  return { path: name, size: Number(found.size), sha256: before.sha256, mode: Number(found.mode) };
}

function linkAt(full: string, { path }: OpenStage): ManifestFile {
  const text = readlinkSync(full, "buffer");
  const { mode } = lstatSync(full);
  return { path: relative(path, full), size: text.length, sha256: digest(text), mode };
}

async function readAndSync(full: string, { path }: OpenStage): Promise<ManifestFile> {
  try {
    const file = await open(full, "r");
    try {
      const { mode } = await file.stat();
      const { sha256, size } = await hashFile(file);
      await file.sync();
      return { path: relative(path, full), size, sha256, mode };
    } finally {
      await file.close();
    }
  } catch (error) {
    throw ioError(error, "sync", full);
  }
}

/** The hash of what an open file holds, read piece by piece. */
export async function hashFile(file: FileHandle): Promise<{ sha256: string; size: number }> {
  const hash = createHash("sha256");
  const bytes = Buffer.allocUnsafe(READ_BYTES);
  let size = 0;
  for (;;) {
    const { bytesRead } = await file.read(bytes, 0, READ_BYTES, size);
    if (bytesRead === 0) return { sha256: hash.digest("hex"), size };
    hash.update(bytes.subarray(0, bytesRead));
    size += bytesRead;
  }
}

export function digest(content: Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

async function syncOnly(folder: string): Promise<void> {
  try {
    const file = await open(folder, "r");
    try {
      await file.sync();
    } finally {
      await file.close();
    }
  } catch (error) {
    throw ioError(error, "sync", folder);
  }
}
