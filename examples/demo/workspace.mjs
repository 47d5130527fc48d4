/**
 * The folder the workers fight over: the shared files, Holdfast's own `.holdfast/`, and `notes/`, where each worker
 * process writes down, in files of its own that it only appends to, what it was told: `acknowledged` or `refused`.
 */
import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SHARED_FILES } from "./shared-files.mjs";

/** Short, so that a frozen worker is overtaken while you watch. Real work would use 30 s. */
export const LEASE_MS = 1_000;

export function createWorkspace() {
  const root = mkdtempSync(join(tmpdir(), "holdfast-demo-"));
  mkdirSync(join(root, "notes"));
  for (const { name, empty } of SHARED_FILES) writeFileSync(join(root, name), empty);
  return root;
}

export function removeWorkspace(root) {
  rmSync(root, { recursive: true, force: true, maxRetries: 5 });
}

/**
 * A note has the `id` and the `file` of an update. A worker writes `acknowledged` once its commit has resolved, and `refused`
 * once the lease and the store have refused it, with both codes and `wouldErase`: updates in the file that this writer had not
 * read, so its write would have erased them.
 */
export function writeNote(root, kind, note) {
  appendFileSync(join(root, "notes", `${process.pid}.${kind}`), `${JSON.stringify(note)}\n`);
}

/** Everything all workers wrote down; a last line cut off by a kill was never finished and does not count. */
export function readNotes(root, kind) {
  return readdirSync(join(root, "notes"))
    .filter((name) => name.endsWith(`.${kind}`))
    .flatMap((name) =>
      readFileSync(join(root, "notes", name), "utf8")
        .split("\n")
        .slice(0, -1),
    )
    .map((line) => JSON.parse(line));
}

/** From here on this process is among the `workerPids`. */
export function signIn(root) {
  appendFileSync(join(root, "notes", `${process.pid}.acknowledged`), "");
}

/** Every process that has worked here. */
export function workerPids(root) {
  return [...new Set(readdirSync(join(root, "notes")).map((name) => Number.parseInt(name, 10)))];
}
