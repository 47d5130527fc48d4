/**
 * Keeps the registered runs of a workspace: each run of an agent whose hook was seen here.
 *
 *   <root>/.holdfast/tokens/<uid>/run-<id>.json     mode 0600
 *
 * The hook writes a record when it first sees a run, and when the run goes on in another process; it removes the record
 * at the end of the run. A record is replaced whole, by a rename. A crash can leave a temporary file, which the sweep
 * removes, and the record of a run that has ended: such a record counts only while its process is not dead and, where
 * no process is known, for a day after the last event.
 */
import { randomBytes } from "node:crypto";
import { renameSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ioError } from "../../base/errors.js";
import { isObject } from "../../base/is-object.js";
import { removeQuietly } from "../../files/durable-file.js";
import { ageOfFile } from "../../platform/clock.js";
import { namesIn } from "../../platform/look-up.js";
import { lifeOfProcess } from "../../platform/machine.js";
import { readOwnFile } from "./own-file.js";
import { digest, isOwn, makeTokenFolder, runFolder } from "./token-folder.js";

const RUN_SCHEMA = 1;

/** A process among all of all boots and pid namespaces. */
export interface RunProcess {
  readonly pid: number;
  readonly startTime: string;
  readonly pidNamespace: string;
  readonly bootId: string;
}

export interface RegisteredRun {
  readonly schema_version: number;
  /** Names the run after its tool and session. */
  readonly id: string;
  /** The name that the hooks, commands and MCP server of the run act under. */
  readonly owner: string;
  readonly tool: string;
  readonly registered_at: string;
  /** The process of the tool; null while none is certain: then the run is bound to its lease only. */
  readonly process: RunProcess | null;
  /** What the process runs, as `Program.path`. */
  readonly program: string | null;
  /** Not yet certain to be the tool: the nearest process above the last hook that is not a shell. */
  readonly candidate: RunProcess | null;
  /** HOLDFAST_OWNER as the tool was started with it. */
  readonly inherited_owner: string | null;
  /** The hash of HOLDFAST_LEASE_TOKEN as the tool was started with it. */
  readonly inherited_token: string | null;
  /** Ids of the runs that this one was started in, the nearest first. */
  readonly around: readonly string[];
  /** Roots of other workspaces in which the run acquired something. */
  readonly elsewhere: readonly string[];
  /** Overlaps that the run was told of: its key, the other key and the other owner, the newest last. */
  readonly told: readonly string[];
}

const FORGOTTEN_AFTER_MS = 7 * 24 * 3_600_000;
const LIVES_WITHOUT_PROCESS_MS = 24 * 3_600_000;
const MOST_TOLD = 1_000;
const NOTED_EVERY_MS = 60_000;
const RECORD = /^run-[0-9a-f]{16}\.json$/;
const OF_RUNS = /^run-[0-9a-f]{16}\.json/;

export function newRecord(run: Omit<RegisteredRun, "schema_version">): RegisteredRun {
  return { schema_version: RUN_SCHEMA, ...run };
}

/** Reads the runs of the workspace; `isLiving` tells which of them count. One look into the folder where there is none. */
export function registeredRuns(root: string): readonly RegisteredRun[] {
  const folder = runFolder(root);
  const names = namesIn(folder).filter((name) => RECORD.test(name));
  if (names.length === 0 || !isOwn(folder)) return [];
  return names.flatMap((name) => {
    const path = join(folder, name);
    const run = readRecord(path);
    const countsFor = run?.process ? FORGOTTEN_AFTER_MS : LIVES_WITHOUT_PROCESS_MS;
    return run !== null && ageOf(path) < countsFor ? [run] : [];
  });
}

/** False when the process of the run is dead. On systems without /proc this starts a program: ask for few. */
export function isLiving({ process }: RegisteredRun): boolean {
  // mutant: run-of-the-dead: lifeOfProcess(process) !== "dead" → true
  return process === null || lifeOfProcess(process) !== "dead";
}

/** Reads the record of one run, also of one that is not alive. */
export function readRun(root: string, id: string): RegisteredRun | null {
  const folder = runFolder(root);
  return isOwn(folder) ? readRecord(join(folder, fileOf(id))) : null;
}

/** `E_IO` when the record cannot be kept. */
export function writeRun(root: string, run: RegisteredRun): void {
  const path = runFolder(root);
  makeTokenFolder({ root, path });
  const file = join(path, fileOf(run.id));
  const fresh = `${file}.${randomBytes(6).toString("hex")}`;
  try {
    writeFileSync(fresh, `${JSON.stringify(run)}\n`, { flag: "wx", mode: 0o600 });
    renameSync(fresh, file);
  } catch (error) {
    removeQuietly(fresh);
    throw ioError(error, "register the run in", file);
  }
}

/** Notes that an event of the run was seen. */
export function noteSeen(root: string, id: string, now: Date): void {
  const path = join(runFolder(root), fileOf(id));
  try {
    if (ageOfFile(statSync(path).mtimeMs) > NOTED_EVERY_MS) utimesSync(path, now, now);
  } catch {
    // The run has ended meanwhile, or the folder is read-only.
  }
}

/** Notes the other workspaces in which the run acquired something: its end gives that back. */
export function noteElsewhere(root: string, id: string, others: readonly string[]): void {
  const run = others.length === 0 ? null : readRun(root, id);
  if (run === null || others.every((other) => run.elsewhere.includes(other))) return;
  writeRun(root, { ...run, elsewhere: [...new Set([...run.elsewhere, ...others])] });
}

/** Notes what the run was told of, so that it is told once. A record that cannot be written does not fail the call. */
export function noteTold(root: string, id: string, told: readonly string[]): void {
  const run = told.length === 0 ? null : readRun(root, id);
  if (run === null) return;
  try {
    writeRun(root, { ...run, told: [...run.told, ...told].slice(-MOST_TOLD) });
  } catch {}
}

export function forgetRun(root: string, id: string): void {
  removeQuietly(join(runFolder(root), fileOf(id)));
}

/** Removes the records of runs that ended without an event, a week ago. */
export function sweepRuns(root: string): void {
  const folder = runFolder(root);
  for (const name of namesIn(folder)) {
    const path = join(folder, name);
    if (OF_RUNS.test(name) && ageOf(path) > FORGOTTEN_AFTER_MS) removeQuietly(path);
  }
}

function ageOf(path: string): number {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? Number.POSITIVE_INFINITY : ageOfFile(found.mtimeMs);
}

function readRecord(path: string): RegisteredRun | null {
  const found = readOwnFile(path);
  if (!isObject(found)) return null;
  const { schema_version, id, owner, around, elsewhere, told } = found as Partial<RegisteredRun>;
  const isRun = typeof id === "string" && typeof owner === "string" && [around, elsewhere, told].every(Array.isArray);
  return schema_version === RUN_SCHEMA && isRun ? (found as RegisteredRun) : null;
}

function fileOf(id: string): string {
  return `run-${digest(id)}.json`;
}
