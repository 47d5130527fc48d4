/** The entry of a thread that writes files of a restore. */

import type { FileEntry } from "../manifest/entry.js";
import { createObjectIndex, type IndexPart } from "../objects/object-index.js";
import { openObjectReader } from "../objects/object-reader.js";
import { serveThread } from "../thread-group.js";
import { writeFileEntry } from "./write-tree.js";

export interface WriteSetup {
  readonly parts: readonly IndexPart[];
}

export interface WriteJob {
  readonly entry: FileEntry;
  readonly full: string;
}

serveThread<WriteSetup, WriteJob, null>(({ parts }) => {
  const reader = openObjectReader(createObjectIndex(parts));
  return {
    work({ entry, full }) {
      writeFileEntry(reader, entry, full);
      return null;
    },
    finish: () => reader[Symbol.dispose](),
  };
});
