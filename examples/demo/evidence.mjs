/** Collects what the verdict is judged by, from where it cannot be wished for: the files, the notes, the audit chain. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { SHARED_FILES } from "./shared-files.mjs";
import { readNotes } from "./workspace.mjs";

/** More than a demo can write; `list` would cut what goes beyond, and the count would show it. */
const MOST_ENTRIES = 50_000;

export async function collectEvidence(root, hf, deeds) {
  return {
    acknowledged: readNotes(root, "acknowledged"),
    refused: readNotes(root, "refused"),
    files: SHARED_FILES.map(({ name, read }) => ({ name, ...readSafely(join(root, name), read) })),
    audit: {
      verdict: await hf.audit.verify(),
      entries: await hf.audit.list({ resource: "path", limit: MOST_ENTRIES }),
    },
    deeds,
  };
}

function readSafely(path, read) {
  try {
    return read(readFileSync(path, "utf8"));
  } catch (error) {
    return { updates: [], problem: `it cannot be read: ${error.message}` };
  }
}
