/**
 * Decides which locks an operation needs, and acquires none. It stops instead of guessing: at an operation that no rule
 * names, a scope that is missing or says too much, a size that decides and was not given, or a deployment that was not
 * declared.
 */

import { HoldfastError, invalidArgument } from "../../base/errors.js";
import type { Mode } from "../../lock/mode.js";
import { fillIn, type LockPattern, type Policy, placesIn, type Rule, type Threshold } from "./rule.js";

export type Deployment = "single-node" | "multi-node";

export interface Scope {
  /** By kind: `{ project: "alpha", map: "m1" }`. */
  readonly ids: Readonly<Record<string, string>>;
  /** How many objects it touches, for operations whose locks depend on it. */
  readonly objects?: number;
}

export interface Needed {
  readonly operation: string;
  /** Those of the scope in the rule's order: however they were given, an approval has one name. */
  readonly ids: Readonly<Record<string, string>>;
  readonly about: string;
  readonly locks: readonly { readonly resource: string; readonly mode: Mode }[];
  /** Of all of them. */
  readonly mode: Mode;
  /** The lock is held for all of it, not for each edit. */
  readonly wholeBulk: boolean;
  /** A person has to approve it first. */
  readonly needsApproval: boolean;
}

/** `E_POLICY_UNKNOWN`, `E_POLICY_AMBIGUOUS`, `E_INVALID_ARGUMENT` for an id that makes no key. */
export function locksFor(policy: Policy, operation: string, scope: Scope, deployment: Deployment | null): Needed {
  const rule = Object.hasOwn(policy, operation) ? policy[operation] : undefined;
  if (rule === undefined) throw unknown(policy, operation);
  if (rule.spansNodes && deployment === null)
    throw ambiguous(operation, "reaches every machine of the deployment, and nobody has said whether there is one", [
      'Write "deployment": "single-node" or "multi-node" into holdfast.config.json.',
    ]);
  const threshold = thresholdFor(operation, rule, scope.objects);
  const patterns = threshold?.locks ?? rule.locks;
  return {
    operation,
    ids: scopeOf(operation, rule, patterns, scope.ids),
    about: rule.about,
    locks: patterns.map(({ key, mode }) => ({ resource: fillIn(key, scope.ids), mode })),
    mode: patterns[0]?.mode ?? "write",
    wholeBulk: threshold?.wholeBulk ?? false,
    needsApproval: rule.destructive ?? false,
  };
}

function thresholdFor(operation: string, { above = [] }: Rule, objects: number | undefined): Threshold | undefined {
  if (objects !== undefined && (!Number.isSafeInteger(objects) || objects < 0))
    throw invalidArgument("objects", "a whole number");
  if (above.length === 0) return undefined;
  if (objects === undefined)
    throw ambiguous(operation, "needs different locks for few objects and for many, and their number is not given", [
      "Give the number of objects.",
    ]);
  const exceeded = above.filter((step) => objects > step.objects);
  return exceeded.sort((one, other) => other.objects - one.objects)[0];
}

/** Every place is filled, and nothing is said that no lock of the operation has a place for. */
function scopeOf(operation: string, rule: Rule, patterns: readonly LockPattern[], ids: Scope["ids"]): Scope["ids"] {
  const needed = new Set(patterns.flatMap(({ key }) => placesIn(key)));
  const known = new Set(
    [rule, ...(rule.above ?? [])].flatMap(({ locks }) => locks.flatMap(({ key }) => placesIn(key))),
  );
  const missing = [...needed].filter((name) => !ids[name]);
  if (missing.length > 0)
    throw ambiguous(operation, `does not say which ${missing.join(" and which ")}`, [
      `Give ${missing.map((name) => `${name}=ID`).join(" ")}.`,
    ]);
  const odd = Object.keys(ids).filter((name) => !known.has(name));
  if (odd.length > 0)
    throw ambiguous(operation, `is not about a ${odd.join(" or a ")}, and one is given`, [
      `Leave ${odd.join(" and ")} out, or choose the operation that is meant.`,
    ]);
  return Object.fromEntries([...known].flatMap((name) => (ids[name] === undefined ? [] : [[name, ids[name]]])));
}

function unknown(policy: Policy, operation: string): HoldfastError {
  const [group] = operation.split(".");
  const near = Object.keys(policy).filter((name) => name.startsWith(`${group}.`));
  return new HoldfastError("E_POLICY_UNKNOWN", `no rule says which locks ${JSON.stringify(operation)} needs`, {
    details: { operation, known: near },
    next:
      near.length > 0
        ? [`Choose one of ${near.join(", ")}.`]
        : ["See them all with `holdfast policy explain`, or add a rule to holdfast.config.json."],
  });
}

function ambiguous(operation: string, why: string, next: readonly string[]): HoldfastError {
  return new HoldfastError("E_POLICY_AMBIGUOUS", `${operation} ${why}`, { details: { operation }, next });
}
