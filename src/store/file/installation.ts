/**
 * Reports what opening a folder as a store would make, and removes a store. The removal runs under the store's guard:
 * when nothing is held, the folder of locks is moved aside in one step and checked once more, since a process that has
 * the store open does not need that guard to acquire a lock. Grants that were made in between are moved back, and the
 * removal is refused. Guard files stay.
 */
import { renameSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { HoldfastError, ioError } from "../../base/errors.js";
import { removeFile } from "../../files/durable-file.js";
import { underGuard } from "../../files/guard.js";
import { SCHEMA_VERSION } from "../../lock/grant.js";
import type { Clock } from "../../platform/clock.js";
import { isThere } from "../../platform/look-up.js";
import type { Installation } from "../contract.js";
import { assertNothingHeld } from "../still-held.js";
import { FIRST_WORKSPACE } from "./first-workspace.js";
import { type Layout, layoutOf } from "./layout.js";
import { createFileRecords } from "./records.js";
import { assertNotEmpty } from "./store-record.js";
import { BlockFile } from "./tree/block-file.js";

const AT_ONCE = 50_000;

export function createFileInstallation(place: string): Installation {
  const layout = layoutOf(resolve(place));
  const mark = join(layout.root, "store.json");
  return {
    async pending() {
      assertNotEmpty(layout.root, mark);
      if (!isThere(mark)) return [{ version: 1, about: "folders for locks, and store.json", statements: layout.root }];
      checkVersion(mark);
      return [];
    },
    install: async () => [],
    async uninstall(clock) {
      assertNotEmpty(layout.root, mark);
      if (!isThere(mark)) return false;
      await underGuard(join(layout.root, "store.guard"), () => {
        checkVersion(mark);
        removeAll(layout, mark, clock);
      });
      return true;
    },
  };
}

function checkVersion(mark: string): void {
  const file = new BlockFile<{ readonly schema_version: number }>(mark);
  try {
    if ((file.read()?.schema_version ?? 0) > SCHEMA_VERSION)
      throw new HoldfastError("E_FORMAT_UNSUPPORTED", `${mark} was written by a newer version of holdfast`);
  } finally {
    file.close();
  }
}

function removeAll(layout: Layout, mark: string, clock: Clock): void {
  assertFree(layout, clock);
  const aside = `${layout.locks}.removed`;
  try {
    rmSync(aside, { recursive: true, force: true });
    renameSync(layout.locks, aside);
    try {
      assertFree({ ...layout, locks: aside }, clock);
    } catch (error) {
      rmSync(layout.locks, { recursive: true, force: true });
      renameSync(aside, layout.locks);
      throw error;
    }
    removeFile(mark);
    removeFile(join(layout.root, "floor.json"));
    removeFile(join(layout.root, FIRST_WORKSPACE));
    for (const path of [aside, layout.ops, layout.alive]) rmSync(path, { recursive: true, force: true });
  } catch (error) {
    throw ioError(error, "remove", layout.root);
  }
}

/** A record that cannot be read counts as held. */
function assertFree(layout: Layout, clock: Clock): void {
  const records = createFileRecords(layout, clock);
  assertNothingHeld(records.list({ prefix: null, after: null, limit: AT_ONCE }), clock(), `file:${layout.root}`);
  for (const tree of records.heads().keys()) {
    const [first] = records.near(tree).unreadable;
    if (first !== undefined)
      throw new HoldfastError("E_LOCK_CONFLICT", `a grant on ${first.resource} cannot be read: ${first.why}`, {
        details: { resources: [first.resource] },
        next: ["holdfast doctor"],
      });
  }
}
