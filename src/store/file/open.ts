/**
 * Opens `file:DIR`: plain JSON files in a folder of a local disk, for one machine.
 *
 * `store.json` comes into being with all its content, in one rename: a crash before that leaves folders, guards and probes
 * of a store that does not exist yet, and the next process begins it. So an empty `store.json` was emptied, and counts as
 * a lost store. Where only `store.json` was removed, a process that expects no certain store makes it anew under another
 * id; what is held is in `locks/` and counts on.
 */
import { randomUUID } from "node:crypto";
import { join, resolve } from "node:path";
import { HoldfastError, ioError } from "../../base/errors.js";
import { lostStore } from "../../base/lost-store.js";
import { enterAll, openGuard } from "../../files/guard.js";
import { SCHEMA_VERSION } from "../../lock/grant.js";
import { assertAgree, type Settings } from "../../lock/settings.js";
import type { Instant } from "../../lock/time.js";
import type { Clock } from "../../platform/clock.js";
import { assertLocalFileSystem, probeFileSystem, sweepProbes } from "../../platform/file-system.js";
import { makeFolder, makeHome } from "../../platform/folder-rights.js";
import type { Store } from "../contract.js";
import { firstSettings } from "../first-settings.js";
import { openProofFolder } from "../local/liveness-and-wake-ups.js";
import { createLocalStore } from "../local/local-store.js";
import { assertNothingForeign, isOtherMachine, machineRecord } from "../local/one-machine.js";
import { type Layout, layoutOf } from "./layout.js";
import { FileLedger } from "./ledger.js";
import { createFileRecords } from "./records.js";
import { StorePlace } from "./store-place.js";
import { assertNotEmpty, assertStoreRecord, readStoreRecord, type StoreRecord } from "./store-record.js";
import { BlockFile } from "./tree/block-file.js";
import { FenceFloor } from "./tree/fence-floor.js";

export async function openFileStore(
  place: string,
  stated: Partial<Settings>,
  clock: Clock,
  expectedId?: string,
): Promise<Store> {
  if (place === "")
    throw new HoldfastError("E_CONFIG", "file: needs a folder", {
      reason: "invalid_store_url",
      next: ["Write file:DIR."],
    });
  const layout = layoutOf(resolve(place));
  const url = `file:${layout.root}`;
  const mark = join(layout.root, "store.json");
  assertNotEmpty(layout.root, mark);
  const known = readStoreRecord(layout.root);
  if (expectedId !== undefined) assertExpected(url, expectedId, known);
  prepareFolder(layout, known === null);
  const { settings, store_id: id } = await agree(layout, stated, clock(), expectedId);
  const storePlace = new StorePlace(url, mark);
  const floor = new FenceFloor(layout.root);
  const ledger = new FileLedger({ url, id, settings, layout, place: storePlace }, floor, clock);
  await ledger.settleLeftovers();
  return createLocalStore(ledger, openProofFolder(layout.alive, settings, clock()));
}

/** A store is new until its settings are on record, so that a crash here does not spare the next one the probes. */
function prepareFolder({ root, locks, ops }: Layout, isNew: boolean): void {
  try {
    makeHome(root);
    makeFolder(locks);
    makeFolder(ops);
    sweepProbes(root);
  } catch (error) {
    throw ioError(error, "create", locks);
  }
  assertLocalFileSystem(root);
  if (isNew) probeFileSystem(root);
}

function assertExpected(url: string, expectedId: string, record: StoreRecord | null): void {
  if (record === null) throw lostStore(url, "missing", expectedId);
  // mutant: file-expected: if (record.store_id !== expectedId) throw → if (record.store_id === "") throw
  if (record.store_id !== expectedId) throw lostStore(url, "replaced", expectedId, record.store_id);
}

async function agree(
  layout: Layout,
  stated: Partial<Settings>,
  now: Instant,
  expectedId: string | undefined,
): Promise<StoreRecord> {
  const { root } = layout;
  const machine = machineRecord(now);
  const guard = openGuard(join(root, "store.guard"));
  const file = new BlockFile<StoreRecord>(join(root, "store.json"));
  try {
    await enterAll([guard], root);
    const record = file.read();
    if (expectedId !== undefined) assertExpected(`file:${root}`, expectedId, record);
    if (record === null) {
      const made = {
        schema_version: SCHEMA_VERSION,
        store_id: randomUUID(),
        settings: firstSettings(stated),
        machine,
      };
      file.write(made, true);
      return made;
    }
    assertStoreRecord(record, file.path);
    assertAgree(record.settings, stated);
    if (isOtherMachine(record.machine, now)) {
      assertNothingForeign(
        createFileRecords(layout, () => now),
        now,
        `file:${root}`,
      );
      file.write({ ...record, machine }, true);
    }
    return record;
  } finally {
    guard.leave();
    guard.close();
    file.close();
  }
}
