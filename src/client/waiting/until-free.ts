/**
 * Waits until a key could be acquired, without acquiring it. Recoverable grants are ended on the way, as any acquire
 * would end them: the wait for a killed holder does not last until its lease is over. Nothing is promised for the
 * moment after.
 */

import { sleep } from "../../base/sleep.js";
import { contentionReport } from "../../lock/contention.js";
import type { Grant, Want } from "../../lock/grant.js";
import { conflictNode } from "../../lock/marks.js";
import { ticketStands } from "../../lock/profile.js";
import type { LeaseHome } from "../lease/lease-context.js";
import { ownHolder } from "./own-holder.js";
import { refusal } from "./wait-in-queue.js";

const LOOK_EVERY_MS = 100;

/** `E_LOCK_CONFLICT` with no time to wait, `E_LOCK_TIMEOUT` after it; the signal's reason when it aborts. */
export async function untilFree(home: LeaseHome, want: Want, waitMs: number, asked?: AbortSignal): Promise<void> {
  const signal = asked === undefined ? home.closing : AbortSignal.any([home.closing, asked]);
  const startedAt = performance.now();
  for (;;) {
    signal.throwIfAborted();
    let found = await inTheWay(home, want);
    for (const resource of new Set(found.holders.map((grant) => grant.resource)))
      await home.store.locks.end({ resource, party: home.party, how: "recovered", reason: null });
    if (found.holders.length > 0) found = await inTheWay(home, want);
    if (found.isFree) return;
    const leftMs = waitMs - (performance.now() - startedAt);
    if (leftMs <= 0) {
      const contention = contentionReport(want.resource, found.holders, found.waiters, home.clock());
      throw refusal(waitMs, contention, ownHolder(home, contention));
    }
    await sleep(Math.min(leftMs, LOOK_EVERY_MS), signal);
  }
}

async function inTheWay({ store, clock }: LeaseHome, want: Want) {
  const { grants, waiters, unreadable } = await store.reader.inspect(want.resource);
  const now = clock();
  const holders = grants.filter((grant: Grant) => conflictNode(grant, want) !== null);
  return {
    holders,
    waiters: waiters.filter((ticket) => ticketStands(ticket, now)),
    isFree: holders.length === 0 && unreadable.length === 0,
  };
}
