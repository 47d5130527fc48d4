/** Defines store.json, the settings that all users of the folder have agreed on, and checks it before it is relied on. */

import { HoldfastError } from "../../base/errors.js";
import { SCHEMA_VERSION } from "../../lock/grant.js";
import { checkSettings, type Settings } from "../../lock/settings.js";
import type { MachineRecord } from "../local/one-machine.js";

export interface StoreRecord {
  readonly schema_version: number;
  readonly settings: Settings;
  readonly machine: MachineRecord;
}

/** `E_FORMAT_UNSUPPORTED`, `E_STORE_CORRUPT` */
export function assertStoreRecord(record: StoreRecord, path: string): void {
  if (record.schema_version > SCHEMA_VERSION)
    throw new HoldfastError("E_FORMAT_UNSUPPORTED", `${path} was written by a newer version of holdfast`);
  if (!isSane(record)) throw new HoldfastError("E_STORE_CORRUPT", `${path} makes no sense`, { details: { path } });
}

function isSane({ schema_version, settings, machine }: StoreRecord): boolean {
  try {
    checkSettings(settings);
    return (
      Number.isSafeInteger(schema_version) &&
      settings.levels !== undefined &&
      settings.profiles !== undefined &&
      typeof machine.machine_id === "string" &&
      typeof machine.boot_id === "string"
    );
  } catch {
    return false;
  }
}
