/** Opens `file:DIR`: plain JSON files in a folder of a local disk, for one machine. */
import { existsSync, mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { HoldfastError, ioError } from "../../base/errors.js";
import { enterAll, openGuard } from "../../files/guard.js";
import { SCHEMA_VERSION } from "../../lock/grant.js";
import { assertAgree, type Settings } from "../../lock/settings.js";
import type { Instant } from "../../lock/time.js";
import type { Clock } from "../../platform/clock.js";
import { assertLocalFileSystem, probeFileSystem, sweepProbes } from "../../platform/file-system.js";
import type { Store } from "../contract.js";
import { firstSettings } from "../first-settings.js";
import { openProofFolder } from "../local/liveness-and-wake-ups.js";
import { createLocalStore } from "../local/local-store.js";
import { assertNothingForeign, isOtherMachine, machineRecord } from "../local/one-machine.js";
import { type Layout, layoutOf } from "./layout.js";
import { FileLedger } from "./ledger.js";
import { createFileRecords } from "./records.js";
import { assertStoreRecord, type StoreRecord } from "./store-record.js";
import { BlockFile } from "./tree/block-file.js";
import { FenceFloor } from "./tree/fence-floor.js";

export async function openFileStore(place: string, stated: Partial<Settings>, clock: Clock): Promise<Store> {
  if (place === "")
    throw new HoldfastError("E_CONFIG", "file: needs a folder", {
      reason: "invalid_store_url",
      next: ["Write file:DIR."],
    });
  const layout = layoutOf(resolve(place));
  prepareFolder(layout);
  const settings = await agree(layout, stated, clock());
  const floor = new FenceFloor(layout.root);
  const ledger = new FileLedger(`file:${layout.root}`, layout, floor, settings, clock);
  await ledger.settleLeftovers();
  return createLocalStore(ledger, openProofFolder(layout.alive, settings));
}

/** A store is new until its settings are on record, so that a crash here does not spare the next one the probes. */
function prepareFolder({ root, locks, ops }: Layout): void {
  const isNew = !existsSync(join(root, "store.json"));
  try {
    mkdirSync(locks, { recursive: true });
    mkdirSync(ops, { recursive: true });
    sweepProbes(root);
  } catch (error) {
    throw ioError(error, "create", locks);
  }
  assertLocalFileSystem(root);
  if (isNew) probeFileSystem(root);
}

async function agree(layout: Layout, stated: Partial<Settings>, now: Instant): Promise<Settings> {
  const { root } = layout;
  const machine = machineRecord(now);
  const guard = openGuard(join(root, "store.guard"));
  const file = new BlockFile<StoreRecord>(join(root, "store.json"));
  try {
    await enterAll([guard], root);
    const record = file.read();
    if (record === null) {
      const settings = firstSettings(stated);
      file.write({ schema_version: SCHEMA_VERSION, settings, machine }, true);
      return settings;
    }
    assertStoreRecord(record, file.path);
    assertAgree(record.settings, stated);
    if (isOtherMachine(record.machine, now)) {
      assertNothingForeign(createFileRecords(layout), now, `file:${root}`);
      file.write({ ...record, machine }, true);
    }
    return record.settings;
  } finally {
    guard.leave();
    guard.close();
    file.close();
  }
}
