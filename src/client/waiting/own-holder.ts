/**
 * Says of a refusal that the caller itself holds the lock. Two calls of `acquire` are requests of two holders, so a program
 * that calls it twice waits for itself. It is not refused for that: another of its tasks may release the lock.
 */
import { ERRORS, type ErrorInit } from "../../base/errors.js";
import type { Contention } from "../../lock/contention.js";
import type { LeaseHome } from "../lease/lease-context.js";

/** This Holdfast instance, another instance of this process, or the same owner elsewhere. */
export type OwnHolder = "instance" | "process" | "owner";

/** Null when a holder in the way is another owner's, or none is known. */
export function ownHolder({ holdings, party }: LeaseHome, { holders }: Contention): OwnHolder | null {
  if (holders.length === 0 || holders.some(({ owner }) => owner !== party.owner)) return null;
  if (holders.some(({ holder_id }) => holder_id !== party.holderId)) return "owner";
  return holders.every(({ lock_id }) => holdings.holds(lock_id)) ? "instance" : "process";
}

const TEXT: Readonly<Record<OwnHolder, string>> = {
  instance: "this Holdfast instance itself",
  process: "another Holdfast instance of this process",
  owner: "the same owner in another process",
};

const NEXT: Readonly<Record<OwnHolder, string>> = {
  instance: "Acquire with `lease.acquire(…)` of the lease that holds it, or release that lease first.",
  process: "Give the lease token of that lease as `presenting`, or release that lease first.",
  owner: "If you hold it, give its lease token (`presenting`, or `--token` of a command), or release it first.",
};

export function ownText(own: OwnHolder | null): string {
  return own === null ? "" : `; that is ${TEXT[own]}`;
}

export function withOwn(
  code: "E_LOCK_CONFLICT" | "E_LOCK_TIMEOUT",
  own: OwnHolder | null,
  details: Readonly<Record<string, unknown>>,
): ErrorInit {
  return own === null
    ? { details }
    : { details: { ...details, own_holder: own }, next: [NEXT[own], ERRORS[code].next] };
}

const warned = new WeakSet<LeaseHome>();

/** Emits a warning, once for each Holdfast instance. */
export function warnOfOwnWait(home: LeaseHome, resource: string): void {
  if (warned.has(home)) return;
  warned.add(home);
  process.emitWarning(`an acquire of ${resource} waits for a lock that this Holdfast instance holds itself`, {
    type: "HoldfastWarning",
    code: "HOLDFAST_OWN_WAIT",
    detail: NEXT.instance,
  });
}
