/** Acquires locks: sends the request, waits, and makes the lease. */

import { HoldfastError } from "../../base/errors.js";
import type { Contention } from "../../lock/contention.js";
import type { Want } from "../../lock/grant.js";
import type { Key } from "../../lock/key.js";
import type { AcquireRequest, Answer, Party, Presented, Store, Waiting } from "../../store/contract.js";
import { tell } from "../events.js";
import { type Identity, newToken } from "../identity.js";
import { heldBy, stillOnRecord } from "../lease/held-tokens.js";
import { Lease } from "../lease/lease.js";
import { type LeaseFamily, type LeaseHome, type Presenter, presentedBy } from "../lease/lease-context.js";
import type { ParsedAcquire } from "../options.js";
import { LongWait } from "./long-wait.js";
import { ownHolder } from "./own-holder.js";
import { untilGranted } from "./wait-in-queue.js";

const NOTHING: readonly Presented[] = [];

/** What a workplace brings to every request. */
export interface TakingPlace {
  readonly home: LeaseHome;
  readonly identity: Identity;
  readonly graceMs: number | null;
  readonly strictOrder: boolean;
}

/** Waits in line if need be. The lease joins the family, whose other leases the request presents, and what it is made within. */
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
  const within: readonly Presenter[] =
    // mutant: borrowed-no-more: parsed.within.length === 0 ? → parsed.within.length >= 0 ?
    parsed.within.length === 0 ? parsed.within : await stillOnRecord(home, parsed.within);
  const { token, hash } = newToken();
  parsed.keepToken(token);
  let askedAt = 0;
  const resources = (): string[] => parsed.wants.map((want) => want.resource);
  /** The one key that whoever releases it may hand over: with a proof of this process alone its lease can end it. */
  const heirloom = isOwn(party) && !place.strictOrder && !mustSteal ? onlyKey(parsed.wants) : null;
  const request = (waiting: Waiting): AcquireRequest => {
    const isStranger = shown.length + family.size + within.length === 0;
    const presented = isStranger ? NOTHING : [...shown, ...presentedBy(family), ...presentedBy(within)];
    return {
      wants: parsed.wants,
      party,
      tokenHash: hash,
      leaseMs: parsed.leaseMs,
      graceMs: place.graceMs,
      detached: parsed.detached,
      metadata: parsed.metadata,
      presented,
      strictOrder: place.strictOrder,
      mustSteal,
      mayInherit: heirloom !== null && presented.length === 0,
      waitMs: waiting.waitMs,
      ticketId: waiting.ticketId,
    };
  };
  /** What was handed over some time ago may be over soon: then the store is asked, which renews it. */
  const look = (): Extract<Answer, { kind: "granted" }> | null => {
    const grant = heirloom === null || !store.abilities.handsOver ? null : store.locks.handed(heirloom, hash);
    const since = grant?.renewedAt.bootMs ?? 0;
    return grant && clock().bootMs - since <= grant.leaseMs / 5
      ? { kind: "granted", grants: [grant], ended: [], since }
      : null;
  };
  const leave = async (ticketId: string, report: Contention | null): Promise<void> => {
    await store.locks.leave(ticketId, parsed.wants, party, report);
    // mutant: handed-and-left: if (heirloom !== null && store.abilities.handsOver) await giveBack(store, heirloom, hash, party); →
    if (heirloom !== null && store.abilities.handsOver) await giveBack(store, heirloom, hash, party);
  };
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
        closing,
        signal: parsed.signal,
        looks: home.looks,
        ask: (waiting) => {
          askedAt = clock().bootMs;
          return store.locks.acquire(request(waiting));
        },
        look,
        lasting: (ticketId) => new LongWait(home, parsed, ticketId),
        ownHolder: (contention) => ownHolder(home, contention),
        leave,
      },
      store,
      party.nonce,
    );
    const { leaseMs, detached } = parsed;
    const lease = new Lease(home, { grants, token, since, leaseMs, family, within, detached });
    for (const grant of ended) tell("ended", () => ({ resource: grant.resource, owner: grant.owner }));
    tell("acquired", () => ({ resources: resources(), mode: lease.mode, owner: identity.owner, waitedMs }));
    const stop = closing.aborted ? closing : parsed.signal;
    if (stop?.aborted) {
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

/** What was handed to somebody who has left the line. */
async function giveBack({ reader, locks }: Store, key: Key, tokenHash: string, party: Party): Promise<void> {
  const { grants } = await reader.inspect(key);
  const handed = grants.filter((grant) => grant.tokenHash === tokenHash);
  if (handed.length === 0) return;
  try {
    await locks.release(handed, party);
  } catch (error) {
    if (!(error instanceof HoldfastError && error.code === "E_LOCK_NOT_HELD")) throw error;
  }
}

function isOwn({ proof }: Party): boolean {
  return proof.kind === "file" && !proof.inherited;
}

function onlyKey(wants: readonly Want[]): Key | null {
  return wants.length === 1 ? (wants[0]?.resource ?? null) : null;
}

function queueLength(error: HoldfastError): number {
  const contention = error.details.contention as { queue_length?: number } | undefined;
  return contention?.queue_length ?? 0;
}
