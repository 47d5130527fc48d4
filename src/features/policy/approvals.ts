/**
 * Approvals for operations that cannot be undone. An approval is a detached grant that a person acquires on a key of
 * its own and whose token the person hands on: so it is durable, expires, and is on record like any other; using it up
 * is releasing it, and of two that try, the store lets one.
 *
 * Owner names are declared by the caller, here as everywhere: this keeps honest agents honest, and is not access control.
 */
import type { Duration } from "../../base/duration.js";
import { HoldfastError, isHoldfastError } from "../../base/errors.js";
import { given } from "../../base/given.js";
import type { Holdfast } from "../../client/holdfast.js";
import type { Contention } from "../../lock/contention.js";
import type { GrantRecord } from "../../lock/grant.js";
import { parseKey } from "../../lock/key.js";
import { isPerson } from "../../lock/owner.js";
import { APPROVAL_TREE } from "../../lock/reserved-kinds.js";

const DEFAULT_TTL = "15m";

export interface Approved {
  /** Whoever shows it may perform the operation, once. */
  readonly token: string;
  readonly record: GrantRecord;
}

export interface Approval {
  readonly operation: string;
  readonly ids: Readonly<Record<string, string>>;
}

export interface ApproveOptions {
  /** How long it may be used. Default 15 min. */
  readonly ttl?: Duration;
  readonly reason?: string;
}

/** `approval/map.delete/project:alpha/map:m1`. */
function approvalKey({ operation, ids }: Approval): string {
  const scope = Object.entries(ids).map(([kind, id]) => `${kind}:${id}`);
  return parseKey([APPROVAL_TREE, operation, ...scope].join("/"));
}

/** `E_FORBIDDEN` for an owner that is no person, `E_LOCK_CONFLICT` when it is approved already. */
export async function approve(holdfast: Holdfast, approval: Approval, options: ApproveOptions = {}): Promise<Approved> {
  if (!isPerson(holdfast.owner))
    throw new HoldfastError("E_FORBIDDEN", `${holdfast.owner} may not approve anything: only a user or an admin may`);
  const { reason, ttl = DEFAULT_TTL } = options;
  const { operation, ids } = approval;
  const metadata = { operation, ids, ...given({ reason }) };
  try {
    const lease = await holdfast.acquire(approvalKey(approval), { detached: true, ttl, wait: 0, metadata });
    return { token: lease.token, record: lease.grants[0] as GrantRecord };
  } catch (error) {
    throw isHoldfastError(error, "E_LOCK_CONFLICT") ? approvedAlready(approval, error) : error;
  }
}

/** Unless what is in the way is no approval, but somebody's lock on its key. */
function approvedAlready(approval: Approval, conflict: HoldfastError): HoldfastError {
  const key = approvalKey(approval);
  const { holders } = conflict.details.contention as Contention;
  const standing = holders.find(({ resource, owner }) => resource === key && isPerson(owner));
  if (standing === undefined) return conflict;
  const { operation, ids } = approval;
  return new HoldfastError("E_LOCK_CONFLICT", `${wordsOf(approval)} is approved already, by ${standing.owner}`, {
    cause: conflict,
    details: { ...conflict.details, operation, ids },
    next: [
      "Hand on the token that was given for it: it has not been used yet. If it is lost, take the approval back, then approve again:",
      `holdfast lock break ${key} --reason "…"`,
    ],
  });
}

/** Uses it up. `E_FORBIDDEN` as `assertApproved`. */
export async function useApproval(holdfast: Holdfast, approval: Approval, token: string | undefined): Promise<void> {
  const shown = await assertApproved(holdfast, approval, token);
  await asRefusal(approval, async () => (await holdfast.reattach(approvalKey(approval), shown)).release());
}

/** The token. `E_FORBIDDEN`, saying how to ask for one, when there is none, it ran out, or was used already. */
export async function assertApproved(
  holdfast: Holdfast,
  approval: Approval,
  token: string | undefined,
): Promise<string> {
  if (token === undefined) throw notApproved(approval, "needs an approval");
  const key = approvalKey(approval);
  await asRefusal(approval, async () => {
    await (await holdfast.borrow(key, token)).verify();
    const { grants } = await holdfast.inspect(key);
    if (!grants.some((grant) => grant.resource === key && isPerson(grant.owner)))
      throw notApproved(approval, "was approved by nobody who may");
  });
  return token;
}

async function asRefusal(approval: Approval, step: () => Promise<void>): Promise<void> {
  try {
    await step();
  } catch (error) {
    if (isHoldfastError(error, "E_LOCK_EXPIRED"))
      throw notApproved(approval, "had an approval that has run out", error);
    if (isHoldfastError(error, "E_LOCK_NOT_HELD"))
      throw notApproved(approval, "has no approval with this token (any more)", error);
    throw error;
  }
}

/** As the command takes it: `map.delete project=alpha map=m1`. */
function wordsOf({ operation, ids }: Approval): string {
  return [operation, ...Object.entries(ids).map(([kind, id]) => `${kind}=${id}`)].join(" ");
}

function notApproved(approval: Approval, why: string, cause?: unknown): HoldfastError {
  const { operation, ids } = approval;
  return new HoldfastError("E_FORBIDDEN", `${operation} cannot be undone and ${why}`, {
    details: { operation, ids },
    next: [`Ask a person to run: holdfast approve ${wordsOf(approval)} --by user:NAME`],
    ...given({ cause }),
  });
}
