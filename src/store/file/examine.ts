/** Examines a file store for the doctor: reads its files, and changes nothing. */
import { join, resolve } from "node:path";
import type { Examination } from "../contract.js";
import { createReader } from "../local/local-store.js";
import { layoutOf, treeFolders } from "./layout.js";
import { createFileRecords } from "./records.js";
import { assertStoreRecord, type StoreRecord } from "./store-record.js";
import { readBlock } from "./tree/read-block.js";
import { assertUsable, type TreeRecord } from "./tree/tree-record.js";

export function examineFileStore(place: string): Examination | null {
  const layout = layoutOf(resolve(place));
  const path = join(layout.root, "store.json");
  const record = readBlock<StoreRecord>(path);
  if (record === null) return null;
  assertStoreRecord(record, path);
  const { settings } = record;
  const trees = treeFolders(layout);
  const records = createFileRecords(layout);
  return {
    url: `file:${layout.root}`,
    id: record.store_id,
    reader: createReader({ records, settings }),
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

function problemWith(path: string): string[] {
  try {
    const record = readBlock<TreeRecord>(path);
    if (record !== null) assertUsable(record, path);
    return [];
  } catch (error) {
    return [(error as Error).message];
  }
}
