/** What is left when all agents are gone: the files, the agents' logs, the audit trail, the board. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Json, Scene } from "../cli/command.js";

/** A line of a file. */
export interface Edit {
  readonly file: string;
  readonly issue: string;
  readonly owner: string;
  /** Of the lock that it was written under. */
  readonly token: number | null;
}

export interface AuditEntry {
  /** Its place in the chain of its tree. */
  readonly seq: number;
  readonly event: string;
  readonly resource: string;
  readonly owner: string;
  readonly fencing_token: number | null;
  readonly lock_id: string | null;
  readonly details: { readonly previous?: { readonly owner: string } };
}

export interface BoardEvent {
  readonly seq: number;
  readonly event: string;
  readonly id: string;
  readonly by: string;
  readonly changes: { readonly claim?: { readonly owner: string; readonly fencing_token: number } | null };
}

export interface Facts {
  /** The files that each issue names. */
  readonly issues: ReadonlyMap<string, readonly string[]>;
  /** In the order of the lines. */
  readonly edits: readonly Edit[];
  readonly acknowledged: readonly Edit[];
  readonly audit: readonly AuditEntry[];
  readonly isAuditSound: boolean;
  readonly events: readonly BoardEvent[];
  readonly states: readonly string[];
  /** Keys. */
  readonly held: readonly string[];
  readonly findings: readonly string[];
}

interface Places {
  readonly issues: ReadonlyMap<string, readonly string[]>;
  readonly files: readonly string[];
  readonly logs: readonly string[];
}

export async function factsOf(scene: Scene, { issues, files, logs }: Places): Promise<Facts> {
  const audit = await scene.data(["audit", "list", "--limit", "50000"]);
  const board = await scene.data(["board", "export"]);
  const locks = await scene.data(["lock", "list"]);
  const doctor = await scene.data(["doctor"]);
  return {
    issues,
    edits: files.flatMap((file) => linesOf(join(scene.root, file)).map((line) => ({ file, ...line }))),
    acknowledged: logs.flatMap(linesOf),
    audit: audit.entries,
    isAuditSound: (await scene.data(["audit", "verify"])).ok,
    events: linesOf(join(scene.root, ".holdfast", "board", "events.jsonl")),
    states: board.issues.map(({ state }: Json) => state),
    held: locks.grants.map(({ resource }: Json) => resource),
    findings: doctor.findings.filter(({ severity }: Json) => severity !== "info").map(({ message }: Json) => message),
  };
}

function linesOf(path: string): Json[] {
  if (!existsSync(path)) return [];
  return readFileSync(path, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}
