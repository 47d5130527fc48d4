/**
 * Manifests and their lists of files, as rows. A tree's row counts those that are pending, so that other trees need no
 * query. The manifests of the target that was read last are remembered between steps, for as long as trees are.
 */
import { type Key, nodesOf } from "../../../lock/key.js";
import {
  byAge,
  fromManifestRecord,
  type Manifest,
  type ManifestFile,
  treesOfManifest,
} from "../../../lock/manifest.js";
import { isoTime } from "../../../lock/time.js";
import type { ManifestPage } from "../../contract.js";
import type { Changes } from "../../ledger.js";
import type { Database } from "../connection/database.js";
import type { Row, Statement } from "../connection/statement.js";
import type { Trees } from "../grants/trees.js";

const COLUMNS = `id, op, target, tmp_path, owner, resource, fencing_token, state, created_at, committed_at, file_count,
  bytes, details, path_key`;

export class ManifestRows {
  readonly #trees: Trees;
  readonly #put: Statement;
  readonly #change: Statement;
  readonly #amend: Statement;
  readonly #state: Statement;
  readonly #drop: Statement;
  readonly #dropFiles: Statement;
  readonly #addFile: Statement;
  readonly #selectAt: Statement;
  readonly #selectBelow: Statement;
  readonly #selectTarget: Statement;
  readonly #selectPage: Statement;
  readonly #selectFiles: Statement;
  #known: KnownTarget | null = null;

  constructor(database: Database, trees: Trees) {
    this.#trees = trees;
    const select = `SELECT ${COLUMNS} FROM manifests WHERE`;
    this.#put = database.prepare(
      `INSERT OR REPLACE INTO manifests (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#change = database.prepare(
      "UPDATE manifests SET state = ?, committed_at = ?, file_count = ?, bytes = ?, details = ? WHERE id = ?",
    );
    // A state that is named is written to its index as well.
    this.#amend = database.prepare("UPDATE manifests SET file_count = ?, bytes = ?, details = ? WHERE id = ?");
    this.#state = database.prepare("SELECT state FROM manifests WHERE id = ?");
    this.#drop = database.prepare("DELETE FROM manifests WHERE id = ?");
    this.#dropFiles = database.prepare("DELETE FROM manifest_files WHERE manifest = ?");
    this.#addFile = database.prepare(
      "INSERT OR REPLACE INTO manifest_files (manifest, path, size, sha256, mode) VALUES (?, ?, ?, ?, ?)",
    );
    // Each half has an index of its own, of what is pending alone. `collect` drops what both find.
    const either = (isMeant: (column: string) => string): string =>
      `${select} state = 'pending' AND ${isMeant("resource")} UNION ALL ${select} state = 'pending' AND ${isMeant("path_key")}`;
    this.#selectAt = database.prepare(either((column) => `${column} = ?1`));
    this.#selectBelow = database.prepare(either((column) => `${column} > ?1 AND ${column} < ?2`));
    this.#selectTarget = database.prepare(`${select} target = ? ORDER BY created_at, id`);
    this.#selectPage = database.prepare(
      `${select} (?1 IS NULL OR target = ?1) AND (?2 IS NULL OR state = ?2) AND (created_at, id) > (?3, ?4)
       ORDER BY created_at, id LIMIT ?5`,
    );
    this.#selectFiles = database.prepare(
      "SELECT path, size, sha256, mode FROM manifest_files WHERE manifest = ? AND path > ? ORDER BY path LIMIT ?",
    );
  }

  apply({ manifests, manifestDrops, files }: Changes): void {
    for (const { id } of manifestDrops ?? []) {
      this.#drop.get(id);
      this.#dropFiles.get(id);
    }
    for (const manifest of manifests ?? []) this.#write(manifest);
    this.#note(manifests ?? [], manifestDrops ?? []);
    for (const { path, size, sha256, mode } of files?.files ?? [])
      this.#addFile.get(files?.manifest.id ?? "", path, size, sha256, mode);
  }

  #write(manifest: Manifest): void {
    const before = this.#stateOf(manifest);
    const isPending = manifest.state === "pending";
    if ((before === "pending") !== isPending)
      for (const tree of treesOfManifest(manifest)) this.#trees.change(tree).publishing += isPending ? 1 : -1;
    const { id, state, fileCount, byteCount } = manifest;
    if (before === state) {
      this.#amend.get(fileCount, byteCount, detailsOf(manifest), id);
      return;
    }
    const committedAt = manifest.committedAt === null ? null : isoTime(manifest.committedAt);
    const details = detailsOf(manifest);
    if (before !== null) {
      this.#change.get(state, committedAt, fileCount, byteCount, details, id);
      return;
    }
    const { op, target, tmpPath, owner, resource, fencingToken } = manifest;
    const createdAt = isoTime(manifest.createdAt);
    this.#put.get(
      id,
      op,
      target,
      tmpPath,
      owner,
      resource,
      fencingToken,
      state,
      createdAt,
      committedAt,
      fileCount,
      byteCount,
      details,
      manifest.pathKey,
    );
  }

  #stateOf({ id, target }: Manifest): Manifest["state"] | null {
    const remembered = this.#remembered(target);
    if (remembered !== null) return remembered.find((each) => each.id === id)?.state ?? null;
    return (this.#state.get(id)?.[0] ?? null) as Manifest["state"] | null;
  }

  #note(manifests: readonly Manifest[], drops: readonly Manifest[]): void {
    const known = this.#known;
    if (known === null) return;
    if (drops.length > 0)
      known.manifests = known.manifests.filter(({ id }) => !drops.some((dropped) => dropped.id === id));
    for (const manifest of manifests) {
      if (manifest.target !== known.target) continue;
      const at = known.manifests.findIndex(({ id }) => id === manifest.id);
      known.manifests = at < 0 ? [...known.manifests, manifest].sort(byAge) : known.manifests.with(at, manifest);
    }
  }

  #remembered(target: string): readonly Manifest[] | null {
    // mutant: publish-known-manifests: && this.#known.memory === this.#trees.memory ? this.#known. → ? this.#known.
    return this.#known?.target === target && this.#known.memory === this.#trees.memory ? this.#known.manifests : null;
  }

  pendingNear(keys: readonly Key[]): Manifest[] {
    const found = new Map<string, Manifest>();
    for (const key of keys) {
      for (const node of nodesOf(key)) collect(this.#selectAt.all(node), found);
      // `/` is followed by `0` in the order of bytes, so these are the keys below.
      collect(this.#selectBelow.all(`${key}/`, `${key}0`), found);
    }
    return [...found.values()];
  }

  of(target: string): readonly Manifest[] {
    const remembered = this.#remembered(target);
    if (remembered !== null) return remembered;
    const manifests = this.#selectTarget.all(target).map(toManifest);
    this.#known = { target, manifests, memory: this.#trees.memory };
    return manifests;
  }

  page({ target, state, after, limit }: ManifestPage): Manifest[] {
    const behind = after === null ? "" : new Date(after.createdAt).toISOString();
    return this.#selectPage.all(target, state, behind, after?.id ?? "", limit).map(toManifest);
  }

  files({ id }: Manifest, after: string | null, limit: number): ManifestFile[] {
    return this.#selectFiles.all(id, after ?? "", limit).map(([path, size, sha256, mode]) => ({
      path: path as string,
      size: size as number,
      sha256: sha256 as string,
      mode: mode as number,
    }));
  }
}

interface KnownTarget {
  readonly target: string;
  readonly memory: number;
  manifests: readonly Manifest[];
}

function collect(rows: readonly Row[], found: Map<string, Manifest>): void {
  for (const row of rows) {
    const manifest = toManifest(row);
    found.set(manifest.id, manifest);
  }
}

function toManifest(row: Row): Manifest {
  const [id, op, target, tmpPath, owner, resource, token, state, createdAt, committedAt, fileCount, bytes] = row;
  const [details, pathKey] = row.slice(12);
  return fromManifestRecord({
    id: id as string,
    op: op as string,
    target: target as string,
    tmp_path: tmpPath as string,
    owner: owner as string,
    resource: resource as string,
    path_key: pathKey as string | null,
    fencing_token: token as number,
    state: state as Manifest["state"],
    created_at: createdAt as string,
    committed_at: committedAt as string | null,
    file_count: fileCount as number,
    bytes: bytes as number,
    ...(JSON.parse(details as string) as ManifestDetails),
  });
}

function detailsOf({ targetKey, lockId, sealed, isCleared }: Manifest): string {
  const details: ManifestDetails = { target_key: targetKey, lock_id: lockId, sealed, cleared: isCleared };
  return JSON.stringify(details);
}

interface ManifestDetails {
  readonly target_key: string;
  readonly lock_id: string;
  readonly sealed: string | null;
  readonly cleared: boolean;
}
