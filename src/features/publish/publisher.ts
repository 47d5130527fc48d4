/**
 * Finds the grant that a publish uses: that of a lease, of a borrowed lease, or of a key that is acquired for the time
 * of the publish.
 */

import { invalidArgument } from "../../base/errors.js";
import type { Holdfast } from "../../client/holdfast.js";
import { type GrantRef, kernelOf, type Manifests, type Party } from "../../client/kernel.js";
import type { BorrowedLease } from "../../client/lease/borrowed-lease.js";
import type { Lease } from "../../client/lease/lease.js";
import { isLoss } from "../../client/lease/loss.js";
import type { Key } from "../../lock/key.js";
import type { PublishOptions } from "./options.js";

export interface KeyToTake {
  readonly holdfast: Holdfast;
  readonly key: string;
}

export type Publisher = Lease | BorrowedLease | KeyToTake;

/** The one grant of a lease that is published under. */
export interface Hand {
  readonly storeUrl: string;
  readonly manifests: Manifests;
  readonly party: Party;
  /** The key it publishes under. */
  readonly resource: Key;
  readonly signal: AbortSignal | null;
  step<T>(run: (manifests: Manifests, grant: GrantRef, party: Party) => Promise<T>): Promise<T>;
  /** Throws why the lease was lost, if that is known here. */
  assertHeld(): void;
  /** What to tell of a failure: if the lock was lost, that; a stage that is suddenly gone is only what follows from it. */
  reasonFor(error: unknown): Promise<unknown>;
}

interface TakenHand {
  readonly hand: Hand;
  /** Null when it was in hand before. */
  readonly release: (() => Promise<void>) | null;
}

export function takeHand(publisher: Publisher, options: PublishOptions): TakenHand | Promise<TakenHand> {
  if ("holdfast" in publisher) return acquireHand(publisher, options);
  return { hand: handOf(publisher, options), release: null };
}

async function acquireHand(publisher: KeyToTake, options: PublishOptions): Promise<TakenHand> {
  const { holdfast, key } = publisher;
  const { wait, ttl, signal } = options;
  const lease = await holdfast.acquire(key, {
    mode: "write",
    ...(wait === undefined ? {} : { wait }),
    ...(ttl === undefined ? {} : { ttl }),
    ...(signal === undefined ? {} : { signal }),
  });
  return { hand: handOf(lease, { ...options, key }), release: () => lease.release() };
}

function handOf(lease: Lease | BorrowedLease, { key, signal }: PublishOptions): Hand {
  const kernel = kernelOf(lease);
  const { url: storeUrl, manifests, requester: party } = kernel;
  const leaseSignal = "signal" in lease ? lease.signal : null;
  const signals = [leaseSignal, signal ?? null].filter((each) => each !== null);
  const grant = (): GrantRef => {
    const { refs } = lease;
    const found = key === undefined ? refs[0] : refs.find(({ resource }) => resource === key);
    if (found === undefined) throw invalidArgument("key", `the lease does not hold ${key}`);
    return found;
  };
  const { resource } = grant();
  return {
    storeUrl,
    resource,
    manifests,
    party,
    signal: signals.length > 1 ? AbortSignal.any(signals) : (signals[0] ?? null),
    step: (run) => lease.through(() => run(manifests, grant(), party)),
    assertHeld() {
      for (const each of signals) each.throwIfAborted();
    },
    async reasonFor(error) {
      try {
        for (const each of signals) each.throwIfAborted();
        await lease.through(() => kernel.commit([grant()], () => undefined));
        return error;
      } catch (loss) {
        return isLoss(loss) ? loss : error;
      }
    },
  };
}
