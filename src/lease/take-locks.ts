/** Taking locks: the request, the wait, and the lease that comes of it. */
import type { AcquireRequest, Waiting } from "../store/contract.js";
import { HoldfastError } from "../support/errors.js";
import { tell } from "./events.js";
import { type Identity, newToken } from "./identity.js";
import { Lease } from "./lease.js";
import { type LeaseFamily, type LeaseHome, presentedBy } from "./lease-home.js";
import type { ParsedAcquire } from "./options.js";
import { heldBy } from "./presented.js";
import { untilGranted } from "./wait-in-line.js";

/** What a workplace brings to every request. */
export interface TakingPlace {
  readonly home: LeaseHome;
  readonly identity: Identity;
  readonly graceMs: number | null;
  readonly strictOrder: boolean;
}

/** Waits in line if need be. The lease joins the family, whose other leases the request presents. */
export async function takeLocks(
  place: TakingPlace,
  parsed: ParsedAcquire,
  family: LeaseFamily,
  mustSteal: boolean,
): Promise<Lease> {
  const { home, identity } = place;
  const { store, clock, closing } = home;
  const party = identity.partyFor(parsed);
  const shown = parsed.presenting.length === 0 ? [] : await heldBy(home, parsed.presenting);
  const { token, hash } = newToken();
  parsed.keepToken(token);
  let askedAt = 0;
  const signals = parsed.signal === undefined ? [closing] : [closing, parsed.signal];
  const resources = (): string[] => parsed.wants.map((want) => want.resource);
  const request = (waiting: Waiting): AcquireRequest => ({
    wants: parsed.wants,
    party,
    tokenHash: hash,
    leaseMs: parsed.leaseMs,
    graceMs: place.graceMs,
    detached: parsed.detached,
    metadata: parsed.metadata,
    presented: [...shown, ...presentedBy(family)],
    strictOrder: place.strictOrder,
    mustSteal,
    waitMs: waiting.waitMs,
    ticketId: waiting.ticketId,
  });
  try {
    const {
      grants,
      ended,
      waitedMs,
      since = askedAt,
    } = await untilGranted(
      {
        wants: parsed.wants,
        waitMs: parsed.waitMs,
        signals,
        ask: (waiting) => {
          askedAt = clock().bootMs;
          return store.locks.acquire(request(waiting));
        },
        leave: (ticketId, report) => store.locks.leave(ticketId, parsed.wants, party, report),
      },
      store.wakeUps,
      party.nonce,
    );
    const lease = new Lease(home, { grants, token, since, family, detached: parsed.detached });
    for (const grant of ended) tell("ended", () => ({ resource: grant.resource, owner: grant.owner }));
    tell("acquired", () => ({ resources: resources(), mode: lease.mode, owner: identity.owner, waitedMs }));
    const stop = signals.find((signal) => signal.aborted);
    if (stop !== undefined) {
      await lease.release();
      throw stop.reason;
    }
    return lease;
  } catch (error) {
    if (error instanceof HoldfastError)
      tell("refused", () => ({
        resources: resources(),
        owner: identity.owner,
        code: error.code,
        queueLength: queueLength(error),
      }));
    throw error;
  }
}

function queueLength(error: HoldfastError): number {
  const contention = error.details.contention as { queue_length?: number } | undefined;
  return contention?.queue_length ?? 0;
}
