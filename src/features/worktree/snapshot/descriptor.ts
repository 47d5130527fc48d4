/**
 * The descriptor of a snapshot: its own record of itself. `.READY` holds the checksum of the descriptor, the descriptor
 * the root hash of the manifest and the hash of the list of what was skipped: from `.READY` down every byte is covered.
 * A folder whose `.READY` is missing or does not fit is partial: it is not listed, and naming it is
 * `E_PARTIAL_SNAPSHOT`.
 */
import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { HoldfastError, ioError } from "../../../base/errors.js";
import { writeSynced } from "../../../files/durable-file.js";
import { createFile, READ_ONLY } from "../../../platform/folder-rights.js";
import { sealText, unseal } from "../sealed-file.js";

export const ENGINE = "holdfast-objects/1";

export const CONSISTENCY_LEVELS = ["quiesced", "best_effort"] as const;
export type ConsistencyLevel = (typeof CONSISTENCY_LEVELS)[number];

export interface Descriptor {
  readonly schema_version: number;
  readonly snapshot_id: string;
  readonly parent_id: string | null;
  readonly worktree_id: string;
  readonly worktree_mode: "exclusive" | "shared";
  /** `rescue`: taken by a restore in place, of what it was about to replace. */
  readonly kind: "snapshot" | "rescue";
  readonly created_at: string;
  readonly owner: string;
  readonly note: string;
  readonly tags: readonly string[];
  readonly consistency_level: ConsistencyLevel;
  readonly fencing_token: number | null;
  readonly engine: string;
  readonly entries: number;
  readonly bytes: number;
  readonly skipped: number;
  readonly skipped_hash: string;
  readonly payload_root_hash: string;
}

/** As everybody sees it. */
export interface SnapshotInfo extends Descriptor {
  readonly descriptor_checksum: string;
  readonly warnings: readonly string[];
}

const SEAL = "descriptor_checksum";

/** Writes descriptor and, only after it is on the disk, `.READY`. */
export function writeDescriptor(folder: string, descriptor: Descriptor): SnapshotInfo {
  const text = sealText(descriptor, SEAL);
  createReadOnly(join(folder, "descriptor.json"), text);
  const checksum = checksumOf(text);
  createReadOnly(join(folder, ".READY"), `${hash("sha256", text, "hex")}\n`);
  return withWarnings(descriptor, checksum);
}

function createReadOnly(path: string, text: string): void {
  writeSynced(createFile(path, "wx", READ_ONLY), Buffer.from(text));
}

/** `E_PARTIAL_SNAPSHOT` when it has no `.READY` that fits; `E_FORMAT_UNSUPPORTED`. */
export function readDescriptor(folder: string, id: string): SnapshotInfo {
  const ready = textIn(join(folder, ".READY"));
  const text = textIn(join(folder, "descriptor.json"));
  if (ready === null || text === null) throw partial(id, `${ready === null ? ".READY" : "descriptor.json"} is missing`);
  // mutant: snapshot-ready: if (ready !== `${hash("sha256", text, "hex")}\n`) → if (ready === null)
  if (ready !== `${hash("sha256", text, "hex")}\n`) throw partial(id, ".READY does not fit descriptor.json");
  const descriptor = unseal<Descriptor>(text, SEAL);
  if (descriptor === null || descriptor.snapshot_id !== id)
    throw partial(id, "descriptor.json does not fit its checksum");
  if (descriptor.schema_version > 1 || descriptor.engine !== ENGINE)
    throw new HoldfastError(
      "E_FORMAT_UNSUPPORTED",
      `snapshot ${id} was made by ${descriptor.engine}, which this version does not know`,
    );
  return withWarnings(descriptor, checksumOf(text));
}

function checksumOf(text: string): string {
  return (JSON.parse(text) as Record<string, string>)[SEAL] ?? "";
}

function withWarnings(descriptor: Descriptor, checksum: string): SnapshotInfo {
  const warnings: string[] = [];
  if (descriptor.consistency_level === "best_effort")
    warnings.push("best_effort: files may have changed while they were read");
  if (descriptor.worktree_mode === "shared") warnings.push("shared worktree, high risk: no single writer is promised");
  if (descriptor.skipped > 0)
    warnings.push(descriptor.skipped === 1 ? "1 entry was skipped" : `${descriptor.skipped} entries were skipped`);
  return { ...descriptor, descriptor_checksum: checksum, warnings };
}

function textIn(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw ioError(error, "read", path);
  }
}

function partial(id: string, why: string): HoldfastError {
  return new HoldfastError("E_PARTIAL_SNAPSHOT", `snapshot ${id} is not complete: ${why}`, {
    details: { snapshot_id: id, why },
    next: ["`holdfast history` lists the complete ones; `holdfast gc` removes what is left of this one."],
  });
}
