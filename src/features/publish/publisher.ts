/**
 * Finds the grants that a publish uses: that of a lease, of a borrowed lease, or of a key that is acquired for the time of
 * the publish; and beside it a write lock on the target itself, where that lies in the workspace.
 *
 * A key that is acquired here and the target are one request. With a lease from outside the target is requested without
 * waiting, since the caller holds the other key meanwhile: `E_LOCK_CONFLICT`.
 */

import type { Duration } from "../../base/duration.js";
import { invalidArgument, isHoldfastError } from "../../base/errors.js";
import { given } from "../../base/given.js";
import { sleep } from "../../base/sleep.js";
import type { Holdfast } from "../../client/holdfast.js";
import { type FencedRef, type GrantRef, kernelOf, type Manifests, type Party } from "../../client/kernel.js";
import type { BorrowedLease } from "../../client/lease/borrowed-lease.js";
import type { Lease } from "../../client/lease/lease.js";
import { isLoss } from "../../client/lease/loss.js";
import { parseKeys, parseWait } from "../../client/options.js";
import { isWithin, type Key } from "../../lock/key.js";
import type { Manifest } from "../../lock/manifest.js";
import { withNames } from "../../lock/one-thing.js";
import type { PublishOptions } from "./options.js";

export interface KeyToTake {
  readonly holdfast: Holdfast;
  readonly key: string;
}

export type Publisher = Lease | BorrowedLease | KeyToTake;

const NEXT_TRY_MS = 250;

/** The one grant of a lease that is published under. */
export interface Hand {
  readonly storeUrl: string;
  readonly manifests: Manifests;
  readonly party: Party;
  /** The key it publishes under. */
  readonly resource: Key;
  /** The key of the target's files, where that is another one; null where there is none. */
  readonly pathKey: Key | null;
  readonly signal: AbortSignal | null;
  step<T>(run: (manifests: Manifests, grant: GrantRef, party: Party) => Promise<T>): Promise<T>;
  /** Makes sure that the target is held, too; tries again until `wait` is over. `E_LOCK_CONFLICT` */
  holdTarget(wait: Duration): Promise<void>;
  /** Call it once the target is held, as `Manifests.claim`. */
  claim(manifest: Manifest): Promise<void>;
  /** The step that makes it visible: it checks the grants on the key and on the target. */
  commit(manifest: Manifest, make: () => boolean): Promise<Manifest>;
  /** Throws why the lease was lost, if that is known here. */
  assertHeld(): void;
  /** What to tell of a failure: if the lock was lost, that; a stage that is suddenly gone is only what follows from it. */
  reasonFor(error: unknown): Promise<unknown>;
  /** Gives back what was acquired for this publish. */
  release(): Promise<void>;
}

export function takeHand(publisher: Publisher, target: string, options: PublishOptions): Hand | Promise<Hand> {
  if ("holdfast" in publisher) return acquireHand(publisher, target, options);
  return handOf(publisher, target, options, null);
}

async function acquireHand(publisher: KeyToTake, target: string, options: PublishOptions): Promise<Hand> {
  const { holdfast, key } = publisher;
  const { wait, ttl, signal } = options;
  const path = kernelOf(holdfast).pathKeyOf(target);
  // mutant: publish-target-key: const keys = path === null || isWithin(path, key) ? [key] : [key, path]; → const keys = path === null ? [key] : [key];
  const keys = path === null || isWithin(path, key) ? [key] : [key, path];
  const lease = await holdfast.acquire(keys, {
    mode: "write",
    // mutant: one-thing-publish: withNames({}, parseKeys(keys)) → {}
    metadata: withNames({}, parseKeys(keys)),
    ...given({ wait, ttl, signal }),
  });
  return handOf(lease, target, { ...options, key }, () => lease.release());
}

function handOf(
  lease: Lease | BorrowedLease,
  target: string,
  { key, signal }: PublishOptions,
  giveBack: (() => Promise<void>) | null,
): Hand {
  const kernel = kernelOf(lease);
  const { url: storeUrl, manifests, requester: party } = kernel;
  const leaseSignal = "signal" in lease ? lease.signal : null;
  const signals = [leaseSignal, signal ?? null].filter((each) => each !== null);
  const fenced = (from: Lease | BorrowedLease): readonly FencedRef[] => ("held" in from ? from.held : from.refs);
  const grant = (): FencedRef => {
    const refs = fenced(lease);
    const found = key === undefined ? refs[0] : refs.find(({ resource }) => resource === key);
    if (found === undefined) throw invalidArgument("key", `the lease does not hold ${key}`);
    return found;
  };
  const { resource } = grant();
  const found = kernel.pathKeyOf(target);
  const path = found === null || isWithin(found, resource) ? null : found;
  /** Acquired for the target alone. */
  let beside: Lease | null = null;
  const onTarget = (): FencedRef[] => {
    if (path === null) return [];
    const covers = (ref: GrantRef): boolean => isWithin(path, ref.resource);
    return fenced(beside ?? lease)
      .filter(covers)
      .slice(0, 1);
  };
  const through = async <T>(run: () => Promise<T>): Promise<T> => {
    const others = onTarget();
    let lostTarget: unknown = null;
    const result = await lease.through(async () => {
      try {
        return await run();
      } catch (error) {
        // The lease of the caller is not lost with that of the target.
        if (!isLoss(error) || !others.some((ref) => ref.resource === error.details.resource)) throw error;
        lostTarget = error;
        return null;
      }
    });
    if (lostTarget !== null) throw lostTarget;
    return result as T;
  };
  return {
    storeUrl,
    resource,
    pathKey: path,
    manifests,
    party,
    signal: signals.length > 1 ? AbortSignal.any(signals) : (signals[0] ?? null),
    step: (run) => lease.through(() => run(manifests, grant(), party)),
    async holdTarget(wait) {
      if (path === null || onTarget().length > 0) return;
      const until = performance.now() + parseWait(wait);
      for (;;)
        try {
          // mutant: publish-target-beside: beside = await acquireBeside(lease, path); → beside = null;
          beside = await acquireBeside(lease, path);
          return;
        } catch (error) {
          if (!isHoldfastError(error, "E_LOCK_CONFLICT") || performance.now() + NEXT_TRY_MS > until) throw error;
          await sleep(NEXT_TRY_MS);
        }
    },
    claim: (manifest) => {
      // mutant: publish-mark-of-target: const [by = grant()] = onTarget(); → const by = grant();
      const [by = grant()] = onTarget();
      return manifests.claim(manifest, by);
    },
    // mutant: publish-target-checked: manifest, make, onTarget())) → manifest, make, []))
    commit: (manifest, make) => through(() => manifests.commit(grant(), party, manifest, make, onTarget())),
    assertHeld() {
      for (const each of signals) each.throwIfAborted();
    },
    async reasonFor(error) {
      try {
        for (const each of signals) each.throwIfAborted();
        await through(() => kernel.commit([grant(), ...onTarget()], () => undefined));
        return error;
      } catch (loss) {
        return isLoss(loss) ? loss : error;
      }
    },
    async release() {
      await beside?.release().catch(() => undefined);
      await giveBack?.();
    },
  };
}

/** A lease that was handed down shows all that its token holds, in case that has the target among it. */
async function acquireBeside(lease: Lease | BorrowedLease, path: Key): Promise<Lease> {
  if ("release" in lease) return lease.acquire(path, { wait: 0 });
  const kernel = kernelOf(lease);
  const presented = await kernel.findHeld(new Set(lease.refs.map(({ tokenHash }) => tokenHash)));
  return kernel.acquireAlone(path, { wait: 0, within: [{ ...lease, presented }] });
}
