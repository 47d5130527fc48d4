/**
 * Renews and resumes: renewal extends a lease; resuming turns a lapsed one that was not ended into a new grant with a
 * new token.
 */

import { HoldfastError } from "../../base/errors.js";
import type { Grant } from "../../lock/grant.js";
import { treeOf } from "../../lock/key.js";
import { newLockId } from "../../lock/lock-id.js";
import type { GrantRef, Party } from "../contract.js";
import type { LedgerView, Outcome } from "../ledger.js";
import { entryFor, sharedId } from "./context.js";
import { findOwn, notHeld, requireOwn } from "./live-grant.js";
import { nestedIn } from "./release.js";

export function renew(view: LedgerView, refs: readonly GrantRef[], leaseMs: number | null): Outcome<readonly Grant[]> {
  const renewed = refs.map((ref): Grant => {
    const grant = requireOwn(view, ref);
    return { ...grant, renewedAt: view.now, leaseMs: leaseMs ?? grant.leaseMs, renewals: grant.renewals + 1 };
  });
  return { result: renewed, changes: { updates: renewed } };
}

export function resume(
  view: LedgerView,
  refs: readonly GrantRef[],
  tokenHash: string,
  party: Party,
): Outcome<readonly Grant[]> {
  const old = refs.map((ref) => {
    const grant = findOwn(view, ref);
    if (grant === null) throw notHeld(ref.resource, `somebody has ended your grant on ${ref.resource} meanwhile`);
    if (grant.cover !== null)
      throw new HoldfastError("E_LOCK_EXPIRED", `${ref.resource} nests in another lease: resume that one`);
    return grant;
  });
  const inner = nestedIn(view.near(old.map((grant) => grant.resource)), old);
  if (inner.length > 0)
    throw new HoldfastError(
      "E_LOCK_ORDER",
      `${inner.map((grant) => grant.resource).join(", ")} nests in what is to be resumed and must be released first`,
    );
  const resumed = old.map(
    (grant): Grant => ({
      ...grant,
      lockId: newLockId(grant.resource),
      fencingToken: view.mint(treeOf(grant.resource)),
      tokenHash,
      createdAt: view.now.wallMs,
      renewedAt: view.now,
      renewals: 0,
    }),
  );
  const shared = sharedId(resumed);
  const audit = resumed.map((grant, at) =>
    entryFor(view, "resumed", grant, party, {
      ...shared,
      old_lock_id: old[at]?.lockId ?? null,
      old_fencing_token: old[at]?.fencingToken ?? null,
    }),
  );
  return { result: resumed, changes: { adds: resumed, drops: old, audit } };
}
