/** Defines store.json, the id of a store and the settings that all its users agree on, and checks it before it is relied on. */
import { join, resolve } from "node:path";
import { HoldfastError } from "../../base/errors.js";
import { emptyStore } from "../../base/lost-store.js";
import { NamedFile } from "../../files/named-file.js";
import { SCHEMA_VERSION } from "../../lock/grant.js";
import { checkSettings, type Settings } from "../../lock/settings.js";
import type { MachineRecord } from "../local/one-machine.js";
import { readBlock } from "./tree/read-block.js";

export interface StoreRecord {
  readonly schema_version: number;
  /** Made with the store and never changed. */
  readonly store_id: string;
  readonly settings: Settings;
  readonly machine: MachineRecord;
}

/** `E_FORMAT_UNSUPPORTED`, `E_STORE_CORRUPT` */
export function assertStoreRecord(record: StoreRecord, path: string): void {
  if (record.schema_version > SCHEMA_VERSION)
    throw new HoldfastError("E_FORMAT_UNSUPPORTED", `${path} was written by a newer version of holdfast`);
  if (!isSane(record)) throw new HoldfastError("E_STORE_CORRUPT", `${path} makes no sense`, { details: { path } });
}

/** Returns the id of the store in a folder, or null where there is none. `E_IO`, `E_STORE_CORRUPT` */
export function identifyFileStore(place: string): string | null {
  return readStoreRecord(resolve(place))?.store_id ?? null;
}

/** Returns null where there is no store. `E_IO`, `E_FORMAT_UNSUPPORTED`, `E_STORE_CORRUPT` */
export function readStoreRecord(folder: string): StoreRecord | null {
  const path = join(folder, "store.json");
  const record = readBlock<StoreRecord>(path);
  if (record !== null) assertStoreRecord(record, path);
  return record;
}

/** The error of a lost store, where store.json is there and empty. */
export function assertNotEmpty(folder: string, path: string): void {
  // mutant: file-emptied: if (NamedFile.at(path)?.isEmpty) throw → if (path === "") throw
  if (NamedFile.at(path)?.isEmpty) throw emptyStore(`file:${folder}`, path);
}

function isSane({ schema_version, store_id, settings, machine }: StoreRecord): boolean {
  try {
    checkSettings(settings);
    return (
      Number.isSafeInteger(schema_version) &&
      typeof store_id === "string" &&
      settings.levels !== undefined &&
      settings.profiles !== undefined &&
      typeof machine.machine_id === "string" &&
      typeof machine.boot_id === "string"
    );
  } catch {
    return false;
  }
}
