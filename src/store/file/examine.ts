/** Looking at a file store: its files are read, and nothing else happens to them. */
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { HoldfastError, ioError } from "../../support/errors.js";
import { namesIn } from "../../support/names-in.js";
import type { Examination } from "../contract.js";
import { createReader } from "../local-store.js";
import { layoutOf } from "./layout.js";
import { createFileRecords } from "./records.js";
import { assertStoreRecord, type StoreRecord } from "./store-record.js";
import { assertUsable, type TreeRecord } from "./tree-record.js";

export function examineFileStore(place: string): Examination | null {
  const layout = layoutOf(resolve(place));
  const path = join(layout.root, "store.json");
  const record = readJson<StoreRecord>(path);
  if (record === null) return null;
  assertStoreRecord(record, path);
  const { settings } = record;
  const trees = namesIn(layout.locks).map((name) => join(layout.locks, name));
  const records = createFileRecords(layout);
  return {
    url: `file:${layout.root}`,
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
    close: () => undefined,
  };
}

function problemWith(path: string): string[] {
  try {
    const record = readJson<TreeRecord>(path);
    if (record !== null) assertUsable(record, path);
    return [];
  } catch (error) {
    return [(error as Error).message];
  }
}

function readJson<T>(path: string): T | null {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw ioError(error, "read", path);
  }
  try {
    return text.trim() === "" ? null : (JSON.parse(text) as T);
  } catch (cause) {
    throw new HoldfastError("E_STORE_CORRUPT", `${path} is not readable`, { cause, details: { path } });
  }
}
