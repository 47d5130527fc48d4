/** Examines a file store for the doctor, and opens it for commands that only read: neither changes anything. */
import { join, resolve } from "node:path";
import { assertAgree, type Settings } from "../../lock/settings.js";
import { type Clock, createSystemClock } from "../../platform/clock.js";
import type { Examination, Store } from "../contract.js";
import { lifeByProofs } from "../local/liveness-and-wake-ups.js";
import { createReader } from "../local/local-store.js";
import { createReadingStore } from "../local/reading-store.js";
import { type Layout, layoutOf, treeFolders } from "./layout.js";
import { createFileRecords } from "./records.js";
import { assertNotEmpty, readStoreRecord, type StoreRecord } from "./store-record.js";
import { readBlock } from "./tree/read-block.js";
import { assertUsable, type TreeRecord } from "./tree/tree-record.js";

export function examineFileStore(place: string): Examination | null {
  const layout = layoutOf(resolve(place));
  const record = recordIn(layout);
  if (record === null) return null;
  const { settings } = record;
  const trees = treeFolders(layout);
  const records = createFileRecords(layout, createSystemClock());
  return {
    url: `file:${layout.root}`,
    id: record.store_id,
    reader: createReader({ records, settings }, lifeByProofs(layout.alive)),
    manifests: { list: async (page) => records.manifests(page) },
    settings,
    proofs: layout.alive,
    guards: [
      join(layout.root, "store.guard"),
      join(layout.root, "floor.guard"),
      ...trees.map((tree) => join(tree, "guard")),
    ],
    integrity: () => trees.flatMap((tree) => problemWith(join(tree, "tree.json"))),
    server: null,
    close: () => undefined,
  };
}

/** Null when there is no store yet. `E_CONFIG` when its settings disagree with those stated. */
export function readFileStore(place: string, stated: Partial<Settings>, clock: Clock): Store | null {
  const layout = layoutOf(resolve(place));
  const record = recordIn(layout);
  if (record === null) return null;
  const { settings } = record;
  assertAgree(settings, stated);
  return createReadingStore({
    url: `file:${layout.root}`,
    id: record.store_id,
    settings,
    records: createFileRecords(layout, clock),
    proofs: layout.alive,
    clock,
    look: null,
    close: () => undefined,
  });
}

function recordIn({ root }: Layout): StoreRecord | null {
  assertNotEmpty(root, join(root, "store.json"));
  return readStoreRecord(root);
}

function problemWith(path: string): string[] {
  try {
    const record = readBlock<TreeRecord>(path);
    if (record !== null) assertUsable(record, path);
    return [];
  } catch (error) {
    return [(error as Error).message];
  }
}
