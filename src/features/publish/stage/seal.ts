/**
 * Seals a stage: hashes and syncs every file, syncs every folder, and puts all of it on record. Files are visited one after
 * the other and a few are processed at a time; their entries go to the store in batches. So the use of memory depends
 * neither on the number of files nor on their size. Only files, folders and links can be published.
 *
 * Syncs are still under way while the seal is put on record: the disk does both at once, and a seal promises nothing about
 * the files. The publish waits for all syncs, and for the seal, before the rename.
 */
import { createHash } from "node:crypto";
import { closeSync, fstatSync, lstatSync, openSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { HoldfastError, invalidArgument, ioError } from "../../../base/errors.js";
import { Pool } from "../../../base/pool.js";
import { entriesIn } from "../../../files/folder-entries.js";
import { hasOddName, mayBeOdd } from "../../../files/odd-names.js";
import type { Manifest, ManifestFile } from "../../../lock/manifest.js";
import { identityAt } from "../../../platform/exchange.js";
import { sumOf, syncAndClose, syncFolderLater } from "../file-work.js";
import type { Tell } from "../options.js";
import type { Hand } from "../publisher.js";
import { identityOf, type OpenStage } from "./stage.js";

const WIDTH = 16;
const BATCH = 500;
/** Entries met between two looks at what else is to be done. */
const STRIDE = 64;

type Note = (file: ManifestFile) => void | Promise<void>;

/** `meanwhile` is called once, while the disk is still at work. */
export async function sealStage(
  hand: Hand,
  manifest: Manifest,
  stage: OpenStage,
  tell: Tell,
  meanwhile: () => void,
): Promise<Manifest> {
  const identity = identityAt(stage.path);
  if (identity === null) throw new HoldfastError("E_IO", `${stage.path} is gone`, { details: { path: stage.path } });
  let batch: ManifestFile[] = [];
  let files = 0;
  let bytes = 0;
  tell({ phase: "sealing", files, bytes });

  const note: Note = (file) => {
    batch.push(file);
    files += 1;
    bytes += file.size;
    tell({ files, bytes });
    if (batch.length < BATCH) return;
    const full = batch;
    batch = [];
    return hand.step((manifests, grant) => manifests.addFiles(grant, manifest, full));
  };

  const reading = new Pool(WIDTH);
  const syncing = new Pool(WIDTH);
  try {
    await walk(stage.path, { stage, reading, syncing, note });
    await reading.idle();
    reading.assertFine();
    const last = batch;
    const sealed = await hand.step((manifests, grant) =>
      manifests.seal(grant, manifest, { identity, fileCount: files, byteCount: bytes }, last),
    );
    // mutant: publish-seal-sync: await hand.manifests.onDisk({ standStill: true }); →
    await hand.manifests.onDisk({ standStill: true });
    meanwhile();
    return sealed;
  } finally {
    await reading.idle();
    await syncing.idle();
    await stage.settle();
    syncing.assertFine();
  }
}

interface Walk {
  readonly stage: OpenStage;
  readonly reading: Pool;
  readonly syncing: Pool;
  readonly note: Note;
}

async function walk(folder: string, on: Walk): Promise<void> {
  const { stage, reading, syncing } = on;
  try {
    let met = 0;
    for (const entry of entriesIn(folder) ?? []) {
      const full = join(folder, entry.name);
      met += 1;
      if (met % STRIDE === 0) await setImmediate();
      // mutant: seal-odd-names: ) && hasOddName(folder) → ) && !mayBeOdd(entry.name) && hasOddName(folder)
      if (mayBeOdd(entry.name) && hasOddName(folder))
        throw invalidArgument("stage", `${full} has a name that is not UTF-8, which cannot be published`);
      if (entry.isDirectory()) await walk(full, on);
      else if (entry.isSymbolicLink()) await on.note(linkAt(full, stage));
      else if (!entry.isFile()) throw invalidArgument("stage", `${full} is neither file nor folder nor link`);
      else {
        const known = knownFile(full, stage);
        if (known === null) {
          // mutant: publish-second-sync: await stage.settle(); // One that `write` failed to sync must not be synced again. →
          await stage.settle(); // One that `write` failed to sync must not be synced again.
          await reading.add(() => readAndSync(full, on));
        } else await on.note(known);
      }
    }
  } catch (error) {
    throw ioError(error, "read", folder);
  }
  await syncing.add(() => syncFolderLater(folder));
}

/** A file that `write` has hashed and synced, and that nobody has touched since. */
function knownFile(full: string, stage: OpenStage): ManifestFile | null {
  const { written } = stage;
  const name = nameIn(stage, full);
  const before = written.get(name);
  if (before === undefined) return null;
  const found = lstatSync(full, { bigint: true });
  if (identityOf(found) !== before.identity) return null;
  return { path: name, size: Number(found.size), sha256: before.sha256, mode: Number(found.mode) };
}

function nameIn({ path }: OpenStage, full: string): string {
  return full.slice(path.length + 1);
}

function linkAt(full: string, stage: OpenStage): ManifestFile {
  const text = readlinkSync(full, "buffer");
  const { mode } = lstatSync(full);
  return { path: nameIn(stage, full), size: text.length, sha256: digest(text), mode };
}

async function readAndSync(full: string, { stage, syncing, note }: Walk): Promise<void> {
  let fd: number;
  try {
    fd = openSync(full, "r");
  } catch (error) {
    throw ioError(error, "read", full);
  }
  try {
    const { mode } = fstatSync(fd);
    const sum = await sumOf(fd);
    await note({ path: nameIn(stage, full), ...sum, mode });
    await syncing.add(() => syncAndClose(fd, full));
  } catch (error) {
    closeSync(fd);
    throw ioError(error, "read", full);
  }
}

export function digest(content: Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}
