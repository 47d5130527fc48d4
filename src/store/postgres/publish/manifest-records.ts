/** Converts manifests between the functions of the schema and the library. */
import { fromManifestRecord, type Manifest, type ManifestFile, type ManifestRecord } from "../../../lock/manifest.js";
import type { GrantRef, ManifestPage } from "../../contract.js";
import { call } from "../connection/call.js";
import type { Connection } from "../connection/connection.js";
import { digestOf } from "../locks/token-digest.js";

export interface ToldManifest extends ManifestRecord {
  readonly place: string;
  readonly machine: string;
  /** Its writer's grant stands. */
  readonly live: boolean;
}

export interface ToldBegin {
  /** Null: first look at what is pending there. */
  readonly begun: ToldManifest | null;
  readonly pending: readonly ToldManifest[];
  /** Those that have ended and left something, as far as is known. */
  readonly uncleared: readonly ToldManifest[];
}

export function readManifest(told: ToldManifest): Manifest {
  return { ...fromManifestRecord(told), place: { id: told.place, machine: told.machine } };
}

export async function listManifests(
  connection: Connection,
  store: string,
  { target, state, after, limit }: ManifestPage,
): Promise<readonly Manifest[]> {
  const behind = { after_ms: after?.createdAt ?? null, after_id: after?.id ?? null };
  const told = await connection.ask<readonly ToldManifest[]>(() =>
    call("manifest_list", { target, state, ...behind, page: limit, store }),
  );
  return told.map(readManifest);
}

/** What publishers that are gone left on, above or below a key that was granted. */
export function manifestsLeftOn(connection: Connection, store: string, key: string): Promise<readonly ToldManifest[]> {
  return connection.ask(() => call("manifests_left", { keys: [key], store }));
}

export function refOf({ resource, tokenHash, lockId }: GrantRef) {
  return { key: resource, token: digestOf(tokenHash), lock_id: lockId };
}

export function columnsOf(files: readonly ManifestFile[]) {
  return {
    paths: files.map(({ path }) => path),
    sizes: files.map(({ size }) => size),
    sums: files.map(({ sha256 }) => sha256),
    modes: files.map(({ mode }) => mode),
  };
}
