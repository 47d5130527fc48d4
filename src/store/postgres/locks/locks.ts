/** The verbs of the contract, each one call of the SQL function of the same name. */

import { HoldfastError, isHoldfastError } from "../../../base/errors.js";
import type { Contention } from "../../../lock/contention.js";
import type { Want } from "../../../lock/grant.js";
import type { Clock } from "../../../platform/clock.js";
import type { AcquireRequest, Answer, GrantRef, Locks, Party, Presented } from "../../contract.js";
import { lacks } from "../../lacking-ability.js";
import { once } from "../../local/unique-grants.js";
import { call, callOf } from "../connection/call.js";
import type { Connection } from "../connection/connection.js";
import { UnknownOutcomes } from "../connection/unknown-outcomes.js";
import type { SettleLeft } from "../publish/manifests.js";
import { readGrants, type ToldAnswer, type ToldFreshGrants, type ToldGrants } from "../records.js";
import { type Ask, createReleases, createTakes, mayShare } from "./acquire-batch.js";
import { readHandedOver, readTaken, type ToldTaken, takeCall } from "./acquire-one.js";
import { lockIdFor } from "./lock-ids.js";
import { digestOf } from "./token-digest.js";

interface Offered {
  readonly ticketId: string;
  readonly request: AcquireRequest;
  /** When the last ask was sent that found it in line: nothing was given to it before. */
  readonly askedAt: number;
}

const handOver = callOf("hand_over", ["keys", "tokens", "lock_ids", "owner", "holder_id", "store"]);

export function createLocks(connection: Connection, storeId: string, clock: Clock, settleLeft: SettleLeft): Locks {
  const store = storeId;
  const unknown = new UnknownOutcomes(refsOfRequest);
  /** Requests in line that may be given what they want before they ask again, by ticket. */
  const offered = new Map<string, Offered>();
  const { wakeUps } = connection;

  const traffic = { calls: 0 };
  const takes = createTakes(connection, store, traffic, askAlone);
  const releases = createReleases(connection, store, traffic, async ({ ref, party }, again) => {
    await releaseAlone([ref], party, again);
    return true;
  });

  async function release(grants: readonly GrantRef[], party: Party): Promise<void> {
    const [ref, ...others] = once(grants);
    if (ref === undefined || others.length > 0) await releaseAlone(grants, party, false);
    else await releases({ ref, party });
  }

  /** Those who wait are let in at once; the caller hears of it when it is on the disk. */
  async function releaseAlone(grants: readonly GrantRef[], party: Party, wasSent: boolean): Promise<void> {
    const { keys, tokens, lock_ids } = refsOf(once(grants));
    const values = [keys, tokens, lock_ids, party.owner, party.holderId, store];
    let wasSentBefore = wasSent;
    for (;;) {
      let epoch: string | null = null;
      try {
        epoch = await connection.askText((again) => {
          wasSentBefore ||= again;
          return handOver(values);
        });
        if (epoch === null) return;
      } catch (error) {
        // Nobody else releases by these ids: it was a try whose answer got lost.
        const isDone = error instanceof HoldfastError && error.code === "E_LOCK_NOT_HELD";
        if (!wasSentBefore || !isDone) throw error;
      }
      const unsaid = epoch === null ? { keys, lock_ids } : {};
      if (await connection.ask<boolean>(() => call("flush", { known_epoch: epoch, ...unsaid }))) return;
      // The server crashed before that. What it has now is on its disk, with the release or without.
      wasSentBefore = true;
    }
  }

  /** Whoever gets a lock finds things settled, or does not get it. */
  async function settled(told: ToldAnswer | ToldTaken, request: AcquireRequest): Promise<Answer> {
    if (told.kind === "taken") return { kind: "granted", grants: readTaken(told, request, clock), ended: [] };
    if (told.kind === "granted")
      try {
        // mutant: publish-server-settle: settleLeft(told.left, request.party); → settleLeft([], request.party);
        await settleLeft(told.left, request.party);
      } catch (error) {
        // mutant: publish-given-back: await release(refsOfRequest(request), request.party).catch(() => undefined); →
        await release(refsOfRequest(request), request.party).catch(() => undefined);
        throw error;
      }
    return readAnswer(told, clock, request);
  }

  async function askAlone({ request, isListening }: Ask, wasSent: boolean): Promise<ToldAnswer | ToldTaken> {
    const told = await connection.askText((again) => {
      // mutant: postgres-again: = again || wasSent || unknown.has(request); → = unknown.has(request);
      const isKnown = again || wasSent || unknown.has(request);
      return (isKnown ? null : takeCall(request, store, isListening)) ?? acquireCall(request, isKnown, store);
    });
    return JSON.parse(told ?? "null");
  }

  async function ask(request: AcquireRequest, isListening: boolean): Promise<ToldAnswer | ToldTaken> {
    try {
      const asked = { request, isListening };
      return await (mayShare(request) ? takes(asked) : askAlone(asked, false));
    } catch (error) {
      if (isHoldfastError(error, "E_STORE_UNAVAILABLE")) unknown.add(request);
      throw error;
    }
  }

  /** What came with the wake-up. What may have come some time ago is asked for: it is renewed then, if it is not over. */
  function handedTo({ ticketId, request: { tokenHash }, askedAt }: Offered): ToldTaken | null {
    const told = wakeUps.takeAnswer(ticketId);
    const taken = told === undefined ? null : readHandedOver(told, ticketId, tokenHash);
    // mutant: heard-long-ago: !== null && clock().bootMs - askedAt <= taken.lease_ms / 5 ? taken : null; → ;
    return taken !== null && clock().bootMs - askedAt <= taken.lease_ms / 5 ? taken : null;
  }

  return {
    async acquire(request) {
      const askedAt = clock().bootMs;
      const isListening = wakeUps.isListening(request.party.nonce);
      const before = request.ticketId === null ? undefined : offered.get(request.ticketId);
      const handed = before === undefined ? null : handedTo(before);
      const told = handed ?? (await ask(request, isListening));
      unknown.settled(request);
      for (const { refs, party } of unknown.takeOrphans()) release(refs, party).catch(() => undefined);
      const answer = await settled(told, request);
      if (answer.kind === "queued" && (before !== undefined || isListening))
        offered.set(answer.ticketId, { ticketId: answer.ticketId, request, askedAt });
      if (answer.kind !== "granted") return answer;
      if (before !== undefined) offered.delete(before.ticketId);
      // mutant: postgres-handed-trust: ? before.askedAt : askedAt - ageMs(told) → ? askedAt : askedAt - ageMs(told)
      return { ...answer, since: before !== undefined && handed !== null ? before.askedAt : askedAt - ageMs(told) };
    },
    async upgrade({ grant, party, presented, waitMs, ticketId }) {
      const told = await connection.ask<ToldAnswer>(() =>
        call("upgrade", {
          key: grant.resource,
          token: digestOf(grant.tokenHash),
          lock_id: grant.lockId,
          ...partyOf(party),
          nonce: party.nonce,
          proof: JSON.stringify(party.proof),
          wait_ms: Math.ceil(waitMs),
          ticket_id: ticketId,
          ...presentedOf(presented),
          store,
        }),
      );
      if (told.kind === "granted") await settleLeft(told.left, party);
      return readAnswer(told, clock, grant);
    },
    async downgrade(grants, party) {
      const told = await connection.ask<ToldGrants>(() =>
        call("downgrade", { ...refsOf(grants), ...partyOf(party), store }),
      );
      return readGrants(told, clock, hashesOf(grants));
    },
    async renew(grants, leaseMs) {
      const told = await connection.ask<ToldGrants>(() =>
        call("renew", { ...refsOf(grants), lease_ms: leaseMs, store }),
      );
      return readGrants(told, clock, hashesOf(grants));
    },
    async resume(grants, tokenHash, party) {
      const refs = once(grants);
      const newLockIds = refs.map((ref) => lockIdFor(ref.resource, tokenHash));
      const told = await connection.ask<ToldFreshGrants>((again) =>
        call("resume", {
          ...refsOf(refs),
          new_token: digestOf(tokenHash),
          new_lock_ids: newLockIds,
          ...partyOf(party),
          again,
          store,
        }),
      );
      await settleLeft(told.left, party);
      return readGrants(told, clock, [tokenHash]);
    },
    release,
    async leave(ticketId, wants, party, report) {
      unknown.left(ticketId);
      const given = offered.get(ticketId);
      offered.delete(ticketId);
      try {
        await connection.ask((again) => leaveCall(ticketId, wants, party, again ? null : report, store));
      } catch (error) {
        // It may be given the key before its place lapses.
        if (given !== undefined) unknown.add({ ...given.request, ticketId: null });
        throw error;
      }
      // From here on it is given nothing. What it was given before goes back.
      // mutant: postgres-handed-given-up: !== undefined) await release(refsOfRequest(given.request) → === null) await release([]
      if (given !== undefined) await release(refsOfRequest(given.request), party).catch(unlessNotHeld);
    },
    async noteKept(ticketId, wants, kept) {
      await connection.ask(() =>
        call("note_kept", {
          ticket_id: ticketId,
          keys: wants.map((want) => want.resource),
          kept: kept === null ? null : JSON.stringify(kept),
          store,
        }),
      );
    },
    handed: lacks("handsOver"),
    async refuse(resource, party, reasons) {
      const details = JSON.stringify(reasons);
      await connection.ask(() => call("refuse", { key: resource, details, ...partyOf(party), store }));
    },
    async end({ resource, party, how, reason }) {
      const about = { key: resource, ...partyOf(party), store };
      const told = await connection.ask<ToldGrants>(() =>
        how === "broken" ? call("break", { ...about, reason }) : call("recover", about),
      );
      return readGrants(told, clock);
    },
  };
}

/** How long before its answer a request was granted, which may have been to an earlier try of it. */
function ageMs(told: ToldAnswer | ToldTaken): number {
  if (told.kind !== "granted") return 0;
  const { now, grants } = told;
  return Math.max(0, ...grants.map(({ store }) => now - store.renewed_ms));
}

export function acquireCall(request: AcquireRequest, again: boolean, store: string) {
  const { wants, party } = request;
  return call("acquire", {
    keys: wants.map((want) => want.resource),
    modes: wants.map((want) => want.mode),
    permits: wants.map((want) => want.permits),
    ...partyOf(party),
    nonce: party.nonce,
    proof: JSON.stringify(party.proof),
    lease_ms: request.leaseMs,
    grace_ms: request.graceMs,
    wait_ms: Math.ceil(request.waitMs),
    ticket_id: request.ticketId,
    metadata: JSON.stringify(request.metadata),
    token: digestOf(request.tokenHash),
    ...presentedOf(request.presented),
    detached: request.detached,
    strict_order: request.strictOrder,
    must_steal: request.mustSteal,
    lock_ids: refsOfRequest(request).map((ref) => ref.lockId),
    again,
    store,
  });
}

function unlessNotHeld(error: unknown): void {
  if (!isHoldfastError(error, "E_LOCK_NOT_HELD")) throw error;
}

export function leaveCall(
  ticketId: string,
  wants: readonly Want[],
  party: Party,
  report: Contention | null,
  store: string,
) {
  return call("leave", {
    ticket_id: ticketId,
    keys: wants.map((want) => want.resource),
    modes: wants.map((want) => want.mode),
    report: report === null ? null : JSON.stringify(report),
    ...partyOf(party),
    store,
  });
}

export function readAnswer(told: ToldAnswer, clock: Clock, { tokenHash }: Pick<GrantRef, "tokenHash">): Answer {
  switch (told.kind) {
    case "granted":
      return {
        kind: "granted",
        grants: readGrants(told, clock, [tokenHash]),
        ended: readGrants({ now: told.now, grants: told.ended }, clock),
      };
    case "queued":
      return { kind: "queued", ticketId: told.ticket_id, ahead: told.ahead, inTheWay: told.contention };
    case "conflict":
      return told;
  }
}

function refsOfRequest({ wants, tokenHash }: AcquireRequest): GrantRef[] {
  return wants.map(({ resource }) => ({ resource, lockId: lockIdFor(resource, tokenHash), tokenHash }));
}

export function partyOf({ owner, holderId }: Pick<Party, "owner" | "holderId">) {
  return { owner, holder_id: holderId };
}

function presentedOf(presented: readonly Presented[]) {
  return {
    presented_keys: presented.map((held) => held.resource),
    presented_tokens: presented.map((held) => digestOf(held.tokenHash)),
  };
}

function hashesOf(grants: readonly GrantRef[]): readonly string[] {
  return grants.map((grant) => grant.tokenHash);
}

export function refsOf(grants: readonly GrantRef[]) {
  return {
    keys: grants.map((grant) => grant.resource),
    tokens: grants.map((grant) => digestOf(grant.tokenHash)),
    lock_ids: grants.map((grant) => grant.lockId),
  };
}
