/** Collects what the verdict is judged by, from where it cannot be wished for: the files, the notes, the audit chain. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { AuditEntry, AuditVerdict, Holdfast } from "../index.js";
import type { Kill } from "./crew.js";
import { type Content, SHARED_FILES } from "./shared-files.js";
import { type Acknowledgement, type Refusal, readNotes } from "./workspace.js";

/** More than a demo can write; `list` would cut what goes beyond, and the count would show it. */
const MOST_ENTRIES = 50_000;

export interface Evidence {
  readonly acknowledged: readonly Acknowledgement[];
  readonly refused: readonly Refusal[];
  readonly files: readonly FileEvidence[];
  readonly audit: { readonly verdict: AuditVerdict; readonly entries: readonly AuditEntry[] };
  readonly deeds: Deeds;
}

interface FileEvidence extends Content {
  readonly name: string;
}

/** What was done to the workers. */
export interface Deeds {
  readonly kills: readonly Kill[];
  readonly stops: number;
  readonly crashes: readonly string[];
}

export async function collectEvidence(root: string, hf: Holdfast, deeds: Deeds): Promise<Evidence> {
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

function readSafely(path: string, read: (text: string) => Content): Content {
  try {
    return read(readFileSync(path, "utf8"));
  } catch (error) {
    return { updates: [], problem: `it cannot be read: ${(error as Error).message}` };
  }
}
