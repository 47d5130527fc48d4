/** Checks the definitions of kinds of jobs, and the jobs that a program adds, where they enter. */

import { checkOptions, type OptionNames } from "../../base/check-options.js";
import { type Duration, parseDuration } from "../../base/duration.js";
import { invalidArgument } from "../../base/errors.js";
import { given } from "../../base/given.js";
import type { Sql } from "../../client/kernel.js";
import type { BorrowedLease } from "../../client/lease/borrowed-lease.js";
import type { Profile } from "../../lock/grant.js";
import { MAX_KEYS, parseKey } from "../../lock/key.js";
import { MODES } from "../../lock/mode.js";
import { asJson } from "./as-json.js";
import { parseCap } from "./cap-names.js";
import { CLASSES, JOB_STATES, type JobClass, type JobLock, type JobRecord, type NewJob } from "./model.js";
import { unionOf } from "./scripts/kind-rules.js";
import type { JobPage } from "./scripts/read-jobs.js";
import { nextTime } from "./scripts/schedule.js";
import type { ProjectSettings } from "./scripts/state/caps.js";
import { type Definition, least } from "./scripts/state/definitions.js";
import { COMMANDS, kindLabel } from "./unmet-needs.js";

/** What a handler is given besides its job. */
export interface RunTools {
  /** Aborts when the run was cancelled, timed out, or lost its slot or a lock: then nothing it does is settled any more. */
  readonly signal: AbortSignal;
  /** Its locks, to verify and commit under; null when it has none. */
  readonly lease: BorrowedLease | null;
  /** Gives its locks back before it is over: as soon as they are not needed, and before it waits or calls out. */
  release(): Promise<void>;
  /** Shown by `job show`; goes out with the next heartbeat. */
  progress(value: unknown): void;
  /** Rows of your own, written in the step that settles the job as done: there together or not at all. */
  onSettle(body: (sql: Sql) => unknown): void;
}

export type JobHandler<Payload = unknown> = (job: JobRecord<Payload>, tools: RunTools) => unknown;

/** What a handler in a process of its own is given besides its job. */
export interface ChildRunTools extends Omit<RunTools, "onSettle"> {
  /** A statement on rows of your own, made in the step that settles the job as done: there together or not at all. */
  onSettle(statement: string, values?: readonly unknown[]): void;
}

/** What a module that runs in a process of its own exports as `handler`. */
export type ChildHandler<Payload = unknown> = (job: JobRecord<Payload>, tools: ChildRunTools) => unknown;

/**
 * Rules for all jobs of a kind, whichever process adds them. At the start of a job the stricter of these and the job's
 * own settings holds. While live workers define a kind differently, the strictest of their rules hold, and all their locks.
 */
export interface KindOptions<Payload = unknown> {
  /** Puts jobs that name no class under the cap of this one, `cpu` or `io`. Where workers differ, `cpu`. Default `io`. */
  readonly class?: JobClass;
  /**
   * Locks that each job of the kind acquires, besides its own. A function receives the payload in the worker, before the
   * start, and must give the same locks for the same payload; when it throws, the attempt has failed. Functions with the
   * same text count as the same.
   */
  readonly locks?: readonly JobLock[] | ((payload: Payload) => readonly JobLock[]);
  /** Ends a run that takes longer, as failed; a job's own limit may be shorter. Default none. */
  readonly timeout?: Duration;
  /** Limits how often a job may fail; a job's own limit may be lower. Default none; a job's own default is 3. */
  readonly attempts?: number;
}

export interface EnqueueOptions {
  readonly project: string;
  /** Jobs on a map count against the cap for maps. */
  readonly map?: string;
  readonly class?: JobClass;
  readonly locks?: readonly JobLock[];
  /** Higher goes first, within its project. Default 0. */
  readonly priority?: number;
  /** Not before this time. */
  readonly at?: Date;
  /** Not before this long from now; instead of `at`. */
  readonly delay?: Duration;
  /** Adds a job like this at these times: five fields, or six with seconds. What is added is a schedule. */
  readonly cron?: string;
  /** Where the hours of `cron` are those of the wall, such as `Europe/Berlin`. Default UTC. */
  readonly timeZone?: string;
  /** While a job with this key is not over, adding another gives that one. */
  readonly unique?: string;
  readonly attempts?: number;
  readonly timeout?: Duration;
  /** How long it may wait for its locks. Default 10 min. */
  readonly lockWait?: Duration;
  /** Labels that a worker must have to run it. */
  readonly needs?: readonly string[];
  /** A command instead of a handler. */
  readonly command?: readonly string[];
}

const KIND: OptionNames<KindOptions> = { class: true, locks: true, timeout: true, attempts: true };
export const ENQUEUE: OptionNames<EnqueueOptions> = {
  ...KIND,
  project: true,
  map: true,
  priority: true,
  at: true,
  delay: true,
  cron: true,
  timeZone: true,
  unique: true,
  lockWait: true,
  needs: true,
  command: true,
};
const PAGE: OptionNames<JobPage> = { project: true, state: true, after: true, before: true, limit: true };
const PROJECT: OptionNames<ProjectSettings> = { cap: true, mapCap: true, weight: true };
const NAME = /^[A-Za-z0-9._:@+=,~%-]{1,128}$/;
/** Timers know no more than 24 days. */
const SOME_TIME = { atLeastMs: 10, atMostMs: 24 * 24 * 3_600_000 };
const LATER = { atLeastMs: 0, atMostMs: 10 * 365 * 24 * 3_600_000 };
const PAYLOAD_BYTES = 256 * 1024;
const [DEFAULT_ATTEMPTS, MOST_ATTEMPTS] = [3, 1_000];
const DEFAULT_LOCK_WAIT_MS = 10 * 60_000;
const MOST_PRIORITY = 1_000_000;
const MOST_JOBS = 1_000;
const [LEAST_WEIGHT, MOST_WEIGHT] = [0.001, 1_000];

/** `E_INVALID_ARGUMENT` naming the field. */
export function parseNewJob(
  kind: string,
  payload: unknown,
  options: EnqueueOptions,
  of: KindOptions,
  checked: (locks: readonly JobLock[]) => readonly JobLock[],
  nowMs: number,
): NewJob {
  const ofKind = typeof of.locks === "function" ? of.locks(payload) : of.locks;
  const timeouts = [options.timeout, of.timeout].map((each) => parseTimeout(each) ?? null);
  const ownClass = options.class ?? of.class;
  const attempts = [options.attempts ?? DEFAULT_ATTEMPTS, of.attempts].map(parseAttempts);
  return {
    kind: parseName(kind, "kind"),
    project: parseName(options.project, "project"),
    map: options.map === undefined ? null : parseName(options.map, "map"),
    class: parseClass(ownClass ?? "io"),
    own_class: ownClass === undefined ? null : parseClass(ownClass),
    needs: [...needsOf(kind, options)],
    priority: whole(options.priority ?? 0, "priority", -MOST_PRIORITY, MOST_PRIORITY),
    payload: parsePayload(payload),
    locks: unionOf(checked(options.locks ?? []), checked(ofKind ?? [])),
    command: options.command === undefined ? null : parseCommand(options.command),
    unique_key: options.unique === undefined ? null : parseUnique(options.unique),
    max_attempts: least(attempts) ?? DEFAULT_ATTEMPTS,
    timeout_ms: least(timeouts),
    lock_wait_ms: parseDuration(options.lockWait ?? DEFAULT_LOCK_WAIT_MS, "lockWait", SOME_TIME),
    ...parseStart(options),
    ...parseCron(options, nowMs),
  };
}

/** Checks the rules of a kind. `E_INVALID_ARGUMENT` naming the field. */
export function parseKindOptions(options: KindOptions): Omit<Definition, "locks"> {
  checkOptions(options, KIND);
  return given({
    class: options.class === undefined ? undefined : parseClass(options.class),
    attempts: parseAttempts(options.attempts),
    timeout_ms: parseTimeout(options.timeout),
  });
}

function parseAttempts(attempts: number | undefined): number | undefined {
  return attempts === undefined ? undefined : whole(attempts, "attempts", 1, MOST_ATTEMPTS);
}

function parseTimeout(timeout: Duration | undefined): number | undefined {
  return timeout === undefined ? undefined : parseDuration(timeout, "timeout", SOME_TIME);
}

/** A job needs a worker that knows its kind, or one that runs commands, and whatever else it says. */
function needsOf(kind: string, { needs = [], command }: EnqueueOptions): Set<string> {
  return new Set([
    command === undefined ? kindLabel(kind) : COMMANDS,
    ...needs.map((need) => parseName(need, "needs")),
  ]);
}

/** `E_INVALID_ARGUMENT` unless it is a function, or says where a module is. */
export function parseHandler(handler: unknown): JobHandler | URL {
  if (typeof handler === "function") return handler as JobHandler;
  if (handler instanceof URL && handler.protocol === "file:") return handler;
  throw invalidArgument("handler", "a function, or the file: URL of a module that exports one as handler");
}

function parseStart({ at, delay }: EnqueueOptions): Pick<NewJob, "run_at_ms" | "delay_ms"> {
  if (at !== undefined && delay !== undefined)
    throw invalidArgument("delay", "each says when it may start: leave out one of at and delay");
  if (at !== undefined && Number.isNaN(at.getTime())) throw invalidArgument("at", "a point in time");
  return {
    run_at_ms: at === undefined ? null : at.getTime(),
    delay_ms: delay === undefined ? 0 : parseDuration(delay, "delay", LATER),
  };
}

function parseCron({ cron, timeZone }: EnqueueOptions, nowMs: number): Pick<NewJob, "cron" | "time_zone"> {
  if (cron === undefined) {
    if (timeZone !== undefined) throw invalidArgument("timeZone", "is for cron");
    return { cron: null, time_zone: null };
  }
  if (typeof cron !== "string" || cron.length > 256) throw invalidArgument("cron", "text, at most 256");
  const zone = timeZone ?? "UTC";
  try {
    new Intl.DateTimeFormat("en", { timeZone: zone });
  } catch {
    throw invalidArgument("timeZone", `${JSON.stringify(zone)} is no time zone such as Europe/Berlin`);
  }
  nextTime(cron, zone, nowMs);
  return { cron, time_zone: zone };
}

function parseUnique(key: string): string {
  if (typeof key !== "string" || key === "" || key.length > 512) throw invalidArgument("unique", "text, at most 512");
  return key;
}

/** `E_INVALID_ARGUMENT`. */
export function parseLocks(locks: readonly JobLock[], profileOf: (resource: string) => Profile): JobLock[] {
  if (!Array.isArray(locks) || locks.length > MAX_KEYS) throw invalidArgument("locks", `a list of at most ${MAX_KEYS}`);
  if (new Set(locks.map(({ resource }) => resource)).size < locks.length)
    throw invalidArgument("locks", "the same key twice");
  return locks.map(({ resource, mode }) => {
    const key = parseKey(resource, "locks");
    if (!MODES.includes(mode)) throw invalidArgument("locks", `${String(mode)} is no mode`);
    if (profileOf(key) === "strict")
      throw invalidArgument("locks", `${key} has the profile strict, which a lapsed slot could not end`);
    return { resource: key, mode };
  });
}

function parsePayload(payload: unknown): unknown {
  asJson(payload, "payload", PAYLOAD_BYTES);
  return payload ?? null;
}

function parseCommand(command: readonly string[]): readonly string[] {
  if (command.length === 0 || command.some((word) => typeof word !== "string"))
    throw invalidArgument("command", "a program and its arguments");
  return command;
}

function parseClass(value: string): JobClass {
  const found = CLASSES.find((each) => each === value);
  if (found === undefined) throw invalidArgument("class", `one of ${CLASSES.join(", ")}`);
  return found;
}

export function parseName(value: string, field: string): string {
  if (typeof value !== "string" || !NAME.test(value))
    throw invalidArgument(field, "letters, digits and . _ - : @ + = , ~ %, at most 128");
  return value;
}

function whole(value: number, field: string, least: number, most: number): number {
  if (!Number.isSafeInteger(value) || value < least || value > most)
    throw invalidArgument(field, `a whole number from ${least} to ${most}`);
  return value;
}

/** `E_INVALID_ARGUMENT` naming the field. */
export function parsePage(page: JobPage): JobPage {
  checkOptions(page, PAGE, "page");
  if (page.state !== undefined && !JOB_STATES.includes(page.state))
    throw invalidArgument("state", `one of ${JOB_STATES.join(", ")}`);
  if (page.limit !== undefined) whole(page.limit, "limit", 1, MOST_JOBS);
  if (page.after !== undefined) whole(page.after, "after", 0, Number.MAX_SAFE_INTEGER);
  if (page.before !== undefined) whole(page.before, "before", 1, Number.MAX_SAFE_INTEGER);
  if (page.before !== undefined && page.after !== undefined)
    throw invalidArgument("before", "is not for use with after");
  return page;
}

/** `E_INVALID_ARGUMENT` naming the field. */
export function parseProjectSettings(project: string, settings: ProjectSettings): void {
  checkOptions(settings, PROJECT, "settings");
  const { cap, mapCap, weight } = settings;
  parseName(project, "project");
  parseCap(cap, "cap");
  parseCap(mapCap, "mapCap");
  if (weight !== undefined && !(weight >= LEAST_WEIGHT && weight <= MOST_WEIGHT))
    throw invalidArgument("weight", `a number from ${LEAST_WEIGHT} to ${MOST_WEIGHT}`);
}
