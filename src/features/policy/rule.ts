/**
 * Defines a rule of the policy: the lock that an operation needs, and the facts that must be known before that can be
 * decided.
 */

import { HoldfastError } from "../../base/errors.js";
import { parseKey } from "../../lock/key.js";
import { MODES, type Mode } from "../../lock/mode.js";

/** A lock with places for ids: `project:{project}/map:{map}`. */
export interface LockPattern {
  readonly key: string;
  readonly mode: Mode;
}

export interface Threshold {
  readonly objects: number;
  readonly locks: readonly LockPattern[];
  /** One hold for all of it; otherwise each edit may take the lock for itself. */
  readonly wholeBulk?: boolean;
}

export interface Rule {
  /** What it is for people: one line. */
  readonly about: string;
  /** Taken together, all or none, so all in one mode. */
  readonly locks: readonly LockPattern[];
  /** With more objects than so many, these locks instead. The largest number that is exceeded decides. */
  readonly above?: readonly Threshold[];
  /** Cannot be undone: needs a person's approval. */
  readonly destructive?: boolean;
  /** Reaches several machines when there are several: the workspace must have said how many. */
  readonly spansNodes?: boolean;
}

/** By the name of the operation. */
export type Policy = Readonly<Record<string, Rule>>;

const NAME = /^[a-z][a-z0-9-]*(\.[a-z][a-z0-9-]*)+$/;
const PLACE = /\{([a-z][a-z0-9_]*)\}/g;
const FIELDS = ["about", "locks", "above", "destructive", "spansNodes"];

/** The ids a key pattern has places for, in order. */
export function placesIn(key: string): string[] {
  return [...key.matchAll(PLACE)].map(([, name]) => name as string);
}

/** The pattern with its places filled. `E_INVALID_ARGUMENT` when an id makes no key. */
export function fillIn(key: string, ids: Readonly<Record<string, string>>): string {
  return parseKey(key.replace(PLACE, (_, name: string) => ids[name] ?? ""));
}

/** Checks rows that somebody wrote, such as a workspace's own. `E_CONFIG` naming the row. */
export function checkPolicy(value: unknown): asserts value is Policy {
  if (!isRecord(value)) throw wrong("policy", "is to be an object: a rule for each operation");
  for (const [operation, rule] of Object.entries(value)) checkRule(operation, rule);
}

function checkRule(operation: string, rule: unknown): void {
  if (!NAME.test(operation)) throw wrong(operation, "is no name of an operation; write it like map.calibrate");
  if (!isRecord(rule)) throw wrong(operation, "is to be an object");
  for (const field of Object.keys(rule))
    if (!FIELDS.includes(field)) throw wrong(operation, `has no field ${field}; the fields are ${FIELDS.join(", ")}`);
  if (typeof rule.about !== "string" || rule.about === "") throw wrong(operation, "needs `about`: one line for people");
  checkLocks(operation, rule.locks);
  if (rule.above !== undefined) checkThresholds(operation, rule.above);
  for (const flag of ["destructive", "spansNodes"])
    if (rule[flag] !== undefined && typeof rule[flag] !== "boolean") throw wrong(operation, `${flag} is true or false`);
}

function checkThresholds(operation: string, above: unknown): void {
  if (!Array.isArray(above)) throw wrong(operation, "`above` is a list of { objects, locks }");
  for (const step of above as unknown[]) {
    if (!isRecord(step) || !Number.isSafeInteger(step.objects) || Number(step.objects) < 0)
      throw wrong(operation, "`above` needs `objects`, a whole number");
    checkLocks(operation, step.locks);
  }
}

function checkLocks(operation: string, locks: unknown): void {
  if (!Array.isArray(locks) || locks.length === 0) throw wrong(operation, "needs at least one lock");
  const modes = new Set((locks as unknown[]).map((lock) => (isRecord(lock) ? lock.mode : undefined)));
  if (modes.size > 1) throw wrong(operation, "asks for several modes: its locks are taken as one, in one mode");
  for (const lock of locks as unknown[]) {
    if (!isRecord(lock) || typeof lock.key !== "string") throw wrong(operation, "a lock is { key, mode }");
    if (!MODES.includes(lock.mode as Mode)) throw wrong(operation, `${String(lock.mode)} is no mode`);
    try {
      parseKey(lock.key.replace(PLACE, "x"));
    } catch (error) {
      throw wrong(operation, `${lock.key} makes no key: ${(error as Error).message}`);
    }
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function wrong(operation: string, problem: string): HoldfastError {
  return new HoldfastError("E_CONFIG", `policy: ${operation} ${problem}`, {
    reason: "invalid_value",
    details: { field: "policy", operation },
  });
}
