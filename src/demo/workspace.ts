/**
 * The folder the workers fight over: the shared files, Holdfast's own `.holdfast/`, and `notes/`, where each worker
 * process writes down, in files of its own that it only appends to, what it was told: `acknowledged` or `refused`.
 */
import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SHARED_FILES } from "./shared-files.js";

/** Short, so that a frozen worker is overtaken while you watch. Real work would use 30 s. */
export const LEASE_MS = 1_000;

/** Written once the commit has resolved. */
export interface Acknowledgement {
  readonly id: string;
  readonly file: string;
}

/** Written once the commit was refused, by the lease in hand and by the store itself. */
export interface Refusal extends Acknowledgement {
  readonly code: string;
  readonly storeCode: string;
  /** Updates in the file by now that this writer had never seen: its write would have erased them. */
  readonly wouldErase: number;
}

interface Notes {
  readonly acknowledged: Acknowledgement;
  readonly refused: Refusal;
}

export function createWorkspace(): string {
  const root = mkdtempSync(join(tmpdir(), "holdfast-demo-"));
  mkdirSync(join(root, "notes"));
  for (const { name, empty } of SHARED_FILES) writeFileSync(join(root, name), empty);
  return root;
}

export function removeWorkspace(root: string): void {
  rmSync(root, { recursive: true, force: true, maxRetries: 5 });
}

export function writeNote<Kind extends keyof Notes>(root: string, kind: Kind, note: Notes[Kind]): void {
  appendFileSync(join(root, "notes", `${process.pid}.${kind}`), `${JSON.stringify(note)}\n`);
}

/** Everything all workers wrote down; a last line cut off by a kill was never finished and does not count. */
export function readNotes<Kind extends keyof Notes>(root: string, kind: Kind): Notes[Kind][] {
  return readdirSync(join(root, "notes"))
    .filter((name) => name.endsWith(`.${kind}`))
    .flatMap((name) =>
      readFileSync(join(root, "notes", name), "utf8")
        .split("\n")
        .slice(0, -1),
    )
    .map((line) => JSON.parse(line) as Notes[Kind]);
}

/** From here on this process is among the `workerPids`. */
export function signIn(root: string): void {
  appendFileSync(join(root, "notes", `${process.pid}.acknowledged`), "");
}

/** Every process that has worked here. */
export function workerPids(root: string): number[] {
  return [...new Set(readdirSync(join(root, "notes")).map((name) => Number.parseInt(name, 10)))];
}
