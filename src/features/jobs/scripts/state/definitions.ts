/**
 * Keeps the definitions of kinds that are in force, so that a kind's rules hold for each of its jobs, whichever process
 * added the job and whichever worker starts it. A worker records its definitions with its labels (`job_workers.kinds`);
 * the different ones of a kind, and the strictest of their limits, stand in the kind's own row (`job_kinds`), so that a
 * start reads one row however many workers there are.
 *
 * A definition is in force until its worker signs off, or until the worker's lease and the leases of all its runs are
 * over: what was started under it may still be at work. The turn that finds this forgets the worker in one step with its
 * definitions, so a crash leaves them in force until then, which is the stricter side.
 */
import type { Script, StepTime } from "../../../../client/kernel.js";
import { endedBy, HAS_ENDED } from "../../../../lock/job-time.js";
import type { JobClass, JobLock } from "../../model.js";
import { one, rows } from "../query.js";

/** How a program runs a kind, as it is recorded. */
export interface Definition {
  readonly class?: JobClass;
  readonly attempts?: number;
  readonly timeout_ms?: number;
  /** The locks; of a function of the payload, which only its own program can call, the print of its text. */
  readonly locks?: readonly JobLock[] | string;
}

export type Definitions = Readonly<Record<string, Definition>>;

/** What is known of a kind. */
export interface KindRow {
  readonly typical_ms: number | null;
  /** As JSON, the different ones that are in force, in the order of their texts. */
  readonly definitions: string | null;
  readonly class: JobClass | null;
  readonly max_attempts: number | null;
  readonly timeout_ms: number | null;
}

interface WorkerRow {
  readonly has: string;
  readonly kinds: string;
  readonly until_ms: number;
  readonly epoch: string;
}

/** What a worker says of itself in a turn. */
export interface WorkerEntry {
  readonly worker: string;
  readonly node: string;
  readonly has: readonly string[];
  readonly concurrency: number;
  readonly leaseMs: number;
  /** Left out: it defines no kind. */
  readonly definitions?: Definitions;
}

/** A worker that is believed to be there for this part of its lease need not say so again. */
const SEEN_ENOUGH = 0.75;

export function* kindRow(kind: string): Script<KindRow | undefined> {
  return yield* one<KindRow>(
    "SELECT typical_ms, definitions, class, max_attempts, timeout_ms FROM job_kinds WHERE kind = ?1",
    kind,
  );
}

export function definitionsIn(row: Pick<KindRow, "definitions"> | undefined): readonly Definition[] {
  return row === undefined || row.definitions === null ? [] : (JSON.parse(row.definitions) as Definition[]);
}

export function definitionOf(kind: string, definitions: Definitions = {}): Definition | undefined {
  return Object.hasOwn(definitions, kind) ? definitions[kind] : undefined;
}

/** The names under which this worker is asked for the locks that its functions give. */
export function askable(worker: string, definitions: Definitions = {}): readonly string[] {
  const prints = Object.values(definitions).flatMap(({ locks }) => (typeof locks === "string" ? locks : []));
  return prints.length === 0 ? [] : [worker, ...new Set(prints)];
}

export function kindsAsJson(definitions: Definitions = {}): string {
  return JSON.stringify(definitions);
}

/** Records that this worker is there, and forgets those that are gone. */
export function* register(of: WorkerEntry, now: StepTime): Script<void> {
  const gone = yield* rows<Pick<WorkerRow, "kinds">>(
    // mutant: kinds-of-a-run: AND NOT EXISTS (SELECT 1 FROM job_slots WHERE job_slots.worker = job_workers.worker) → AND worker <> ''
    `DELETE FROM job_workers WHERE ${HAS_ENDED} AND NOT EXISTS (SELECT 1 FROM job_slots WHERE job_slots.worker = job_workers.worker)
       AND worker <> ?4 RETURNING kinds`,
    ...endedBy(now),
    of.worker,
  );
  const [has, kinds] = [JSON.stringify(of.has), kindsAsJson(of.definitions)];
  const there = yield* one<WorkerRow>(
    "SELECT has, kinds, until_ms, epoch FROM job_workers WHERE worker = ?1",
    of.worker,
  );
  const isSame = there?.has === has && there.kinds === kinds && there.epoch === now.epoch;
  if (!isSame || there.until_ms < now.ms + of.leaseMs * SEEN_ENOUGH)
    yield* rows(
      `INSERT INTO job_workers VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (worker) DO UPDATE
         SET node = ?2, has = ?3, concurrency = ?4, until_ms = ?5, epoch = ?6, kinds = ?7`,
      of.worker,
      of.node,
      has,
      of.concurrency,
      now.ms + of.leaseMs,
      now.epoch,
      kinds,
    );
  const changed = gone.map((row) => row.kinds);
  if (there?.kinds !== kinds) changed.push(kinds, there?.kinds ?? "{}");
  yield* putInForce(changed);
}

/** A worker that stops in order. */
export function* signOff(worker: string): Script<void> {
  const gone = yield* rows<Pick<WorkerRow, "kinds">>(
    "DELETE FROM job_workers WHERE worker = ?1 RETURNING kinds",
    worker,
  );
  yield* putInForce(gone.map(({ kinds }) => kinds));
}

/** Writes anew what is in force for the kinds of these workers, which came, went or changed. */
function* putInForce(changed: readonly string[]): Script<void> {
  const names = new Set(changed.flatMap((kinds) => Object.keys(JSON.parse(kinds) as Definitions)));
  if (names.size === 0) return;
  const workers = yield* rows<Pick<WorkerRow, "kinds">>("SELECT DISTINCT kinds FROM job_workers");
  const all = workers.map(({ kinds }) => JSON.parse(kinds) as Definitions);
  for (const name of names) yield* write(name, differentOf(all.flatMap((each) => definitionOf(name, each) ?? [])));
}

function differentOf(definitions: readonly Definition[]): readonly Definition[] {
  const texts = new Set(definitions.map((each) => JSON.stringify(each)));
  return [...texts].sort().map((text) => JSON.parse(text) as Definition);
}

/** Where some say `cpu` and others `io`, it is `cpu`: so that all workers put a job into the same flow. */
function* write(kind: string, different: readonly Definition[]): Script<void> {
  const classes = different.map((each) => each.class);
  yield* rows(
    `INSERT INTO job_kinds (kind, definitions, class, max_attempts, timeout_ms, has_locks) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
       ON CONFLICT (kind) DO UPDATE SET definitions = ?2, class = ?3, max_attempts = ?4, timeout_ms = ?5, has_locks = ?6`,
    kind,
    different.length === 0 ? null : JSON.stringify(different),
    classes.includes("cpu") ? "cpu" : classes.includes("io") ? "io" : null,
    least(different.map(({ attempts }) => attempts)),
    least(different.map(({ timeout_ms }) => timeout_ms)),
    different.some(({ locks = [] }) => locks.length > 0) ? 1 : 0,
  );
}

/** Null when none says anything. */
export function least(values: readonly (number | null | undefined)[]): number | null {
  const said = values.filter((value) => value !== undefined && value !== null);
  return said.length === 0 ? null : Math.min(...said);
}

/** A kind that workers which are there define differently. */
export interface Difference {
  readonly kind: string;
  readonly definitions: readonly Definition[];
}

/** Of these kinds; of all with null. */
export function* differences(kinds: ReadonlySet<string> | null): Script<Difference[]> {
  const all = yield* rows<{ kind: string; definitions: string }>(
    "SELECT kind, definitions FROM job_kinds WHERE definitions IS NOT NULL",
  );
  return all
    .filter(({ kind }) => kinds === null || kinds.has(kind))
    .map((row) => ({ kind: row.kind, definitions: definitionsIn(row) }))
    .filter(({ definitions }) => definitions.length > 1);
}
