/** Finds objects: whether one exists, and where. It searches the indexes of all packs, from the newest to the oldest. */
import { join } from "node:path";
import { openTable, type TableSource } from "./index-table.js";
import { HASH_BYTES, INDEX_HEAD, IS_LARGE, largePath } from "./object-format.js";
import { createOpenFiles } from "./open-files.js";

/** One index file; can be handed to another thread. */
export interface IndexPart extends TableSource {
  /** The folder of the snapshot it belongs to. */
  readonly folder: string;
  readonly file: string;
}

export interface ObjectPlace {
  /** The pack, or the object's own file. */
  readonly path: string;
  readonly offset: number;
  readonly length: number;
  readonly isLarge: boolean;
  /** Which part, and which record in it. */
  readonly part: number;
  readonly record: number;
}

export interface ObjectIndex extends Disposable {
  readonly parts: readonly IndexPart[];
  find(sha256: Buffer): ObjectPlace | null;
  /** All objects of a part, by hash. */
  list(part: number): Generator<ObjectPlace & { readonly sha256: string }>;
}

export function createObjectIndex(parts: readonly IndexPart[]): ObjectIndex {
  const files = createOpenFiles();
  const tables = parts.map((part) => openTable(part, files, join(part.folder, part.file), INDEX_HEAD.length));
  const placeOf = (bytes: Buffer, part: number, record: number): ObjectPlace => {
    const { folder, file } = parts[part] ?? { folder: "", file: "" };
    const offset = bytes.readUIntBE(HASH_BYTES, 6);
    const length = bytes.readUIntBE(HASH_BYTES + 6, 6);
    const isLarge = offset === IS_LARGE;
    const path = isLarge
      ? largePath(folder, bytes.toString("hex", 0, HASH_BYTES))
      : join(folder, file.slice(0, -".idx".length));
    return { path, offset: isLarge ? 0 : offset, length, isLarge, part, record };
  };
  return {
    parts,
    find(sha256) {
      for (let part = tables.length - 1; part >= 0; part -= 1) {
        const table = tables[part];
        const record = table?.search(sha256) ?? -1;
        if (table !== undefined && record >= 0) return placeOf(table.record(record), part, record);
      }
      return null;
    },
    *list(part) {
      const table = tables[part];
      for (let record = 0; table !== undefined && record < table.count; record += 1) {
        const bytes = table.record(record);
        yield { ...placeOf(bytes, part, record), sha256: bytes.toString("hex", 0, HASH_BYTES) };
      }
    },
    [Symbol.dispose]: () => files[Symbol.dispose](),
  };
}
