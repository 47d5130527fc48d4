/**
 * A manifest describes one publish: it is on record from before the first byte until long after the end. `pending` ends
 * `committed` or `aborted`. Between, it is sealed: everything is written and synced, and the staged folder's identity
 * is on record, so that a process that finds the manifest after a crash can decide whether the rename was made.
 */
import { isWithin, type Key, treesOf } from "./key.js";
import { isoTime } from "./time.js";

export type ManifestState = "pending" | "committed" | "aborted";

export interface Manifest {
  readonly id: string;
  /** What made it: `publish`, `stage`. */
  readonly op: string;
  /** Absolute, links in its parent resolved. */
  readonly target: string;
  readonly tmpPath: string;
  readonly owner: string;
  /** The key it is published under, and the grant that is held on it. */
  readonly resource: Key;
  /** The key of the target's files, which a publish under another key holds as well; null where there is none. */
  readonly pathKey: Key | null;
  readonly lockId: string;
  readonly fencingToken: number;
  /** The key that the first publish to this target recorded. */
  readonly targetKey: Key;
  readonly state: ManifestState;
  readonly createdAt: number;
  readonly committedAt: number | null;
  /** Identity of the staged folder; null until sealed. */
  readonly sealed: string | null;
  readonly fileCount: number;
  readonly byteCount: number;
  /** What lies at `tmpPath` after the end, the old tree or an abandoned stage, has been removed. */
  readonly isCleared: boolean;
  /** Which place the path is a path in, where a store serves several machines. */
  readonly place?: Place;
}

/** Known by the mark beside the target; the machine it was first seen on, in case somebody removes the mark. */
interface Place {
  readonly id: string;
  readonly machine: string;
}

/** One file of a manifest; a link counts with its own text as content. */
export interface ManifestFile {
  readonly path: string;
  readonly size: number;
  readonly sha256: string;
  /** Permission bits, and those of the type. */
  readonly mode: number;
}

/** What everybody may see of a manifest, and what stores keep. */
export interface ManifestRecord {
  readonly id: string;
  readonly op: string;
  readonly target: string;
  readonly tmp_path: string;
  readonly owner: string;
  readonly resource: string;
  readonly path_key: string | null;
  readonly fencing_token: number;
  readonly state: ManifestState;
  readonly created_at: string;
  readonly committed_at: string | null;
  readonly file_count: number;
  readonly bytes: number;
  readonly target_key: string;
  readonly lock_id: string;
  readonly sealed: string | null;
  readonly cleared: boolean;
}

export function toManifestRecord(manifest: Manifest): ManifestRecord {
  return {
    id: manifest.id,
    op: manifest.op,
    target: manifest.target,
    tmp_path: manifest.tmpPath,
    owner: manifest.owner,
    resource: manifest.resource,
    path_key: manifest.pathKey,
    fencing_token: manifest.fencingToken,
    state: manifest.state,
    created_at: isoTime(manifest.createdAt),
    committed_at: manifest.committedAt === null ? null : isoTime(manifest.committedAt),
    file_count: manifest.fileCount,
    bytes: manifest.byteCount,
    target_key: manifest.targetKey,
    lock_id: manifest.lockId,
    sealed: manifest.sealed,
    cleared: manifest.isCleared,
  };
}

export function fromManifestRecord(record: ManifestRecord): Manifest {
  return {
    id: record.id,
    op: record.op,
    target: record.target,
    tmpPath: record.tmp_path,
    owner: record.owner,
    resource: record.resource as Key,
    pathKey: record.path_key as Key | null,
    lockId: record.lock_id,
    fencingToken: record.fencing_token,
    targetKey: record.target_key as Key,
    state: record.state,
    createdAt: Date.parse(record.created_at),
    committedAt: record.committed_at === null ? null : Date.parse(record.committed_at),
    sealed: record.sealed,
    fileCount: record.file_count,
    byteCount: record.bytes,
    isCleared: record.cleared,
  };
}

type Keys = Pick<Manifest, "resource" | "pathKey">;

/** The keys whose holders find it settled: the one it is published under, and that of the target's files. */
function keysOf({ resource, pathKey }: Keys): readonly Key[] {
  // mutant: publish-either-key: pathKey === null ? [resource] : [resource, pathKey]; → [resource];
  return pathKey === null ? [resource] : [resource, pathKey];
}

/** The trees whose guards a step needs that changes its state, in the order of guards. */
export function treesOfManifest(manifest: Keys): readonly Key[] {
  return treesOf(keysOf(manifest).map((resource) => ({ resource })));
}

/** Whether one of its keys is, or lies above or below, one of these. */
export function isNear(manifest: Keys, keys: readonly Key[]): boolean {
  return keysOf(manifest).some((own) => keys.some((key) => isWithin(own, key) || isWithin(key, own)));
}

/** Returns whether what was read has the type of each field. */
export function isManifest(read: Manifest): boolean {
  const { id, op, target, tmpPath, owner, resource, lockId, targetKey, sealed, pathKey } = read;
  return (
    [id, op, target, tmpPath, owner, resource, lockId, targetKey].every((each) => typeof each === "string") &&
    (pathKey === null || typeof pathKey === "string") &&
    (sealed === null || typeof sealed === "string") &&
    STATES.includes(read.state) &&
    [read.fencingToken, read.fileCount, read.byteCount].every(Number.isSafeInteger) &&
    Number.isFinite(read.createdAt) &&
    (read.committedAt === null || Number.isFinite(read.committedAt)) &&
    typeof read.isCleared === "boolean"
  );
}

const STATES: readonly ManifestState[] = ["pending", "committed", "aborted"];

export function isManifestFile({ path, size, sha256, mode }: ManifestFile): boolean {
  return [path, sha256].every((each) => typeof each === "string") && [size, mode].every(Number.isSafeInteger);
}

type Age = Pick<Manifest, "createdAt" | "id">;

/** Oldest first. */
export function byAge(a: Age, b: Age): number {
  return a.createdAt - b.createdAt || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
}

/** Which of the manifests of a target tells of the tree that was put there last; undefined when none was. */
export function lastCommitted(manifests: readonly Manifest[]): Manifest | undefined {
  let last: Manifest | undefined;
  for (const each of manifests)
    if (each.state === "committed" && (last === undefined || byCommit(last, each) < 0)) last = each;
  return last;
}

/** After all that is on record of the target, so that what came later is told from the rest however the clock is set. */
export function nextTime(manifests: readonly Manifest[], wallMs: number): number {
  // mutant: publish-order: 1 + Math.max(createdAt, committedAt ?? → 0 * Math.max(createdAt, committedAt ??
  return Math.max(wallMs, ...manifests.map(({ createdAt, committedAt }) => 1 + Math.max(createdAt, committedAt ?? 0)));
}

function byCommit(a: Manifest, b: Manifest): number {
  return (a.committedAt ?? 0) - (b.committedAt ?? 0) || a.fencingToken - b.fencingToken || byAge(a, b);
}
