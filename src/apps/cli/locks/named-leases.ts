/** Acquires, renews, releases and shows named locks, and formats the outcome of each. */

import { HoldfastError } from "../../../base/errors.js";
import type { Holdfast } from "../../../client/holdfast.js";
import { createRuntimeLeases } from "../../../features/runtime/named-leases.js";
import type { GrantRecord } from "../../../lock/grant.js";
import { RUNTIME } from "../../../lock/reserved-kinds.js";
import type { ContextWith, Outcome } from "../command.js";
import { leftOf } from "./grants-text.js";

export async function acquireByName(holdfast: Holdfast, name: string, ttl: string | undefined): Promise<Outcome> {
  const lease = await createRuntimeLeases(holdfast).acquire(name, holdfast.owner, ttl);
  if (lease === null) {
    // Throws with the holder that is in the way; returns when that holder has just gone.
    await holdfast.untilFree(RUNTIME + name, { wait: 0 });
    return acquireByName(holdfast, name, ttl);
  }
  const { grant, token } = lease;
  return {
    data: { lease: { ...leaseData(name, holdfast.owner, grant), token } },
    text: () => token,
    notes: [`${name} is open for ${leftOf(grant)}; the line above is its token`],
  };
}

export async function renewByName(
  holdfast: Holdfast,
  name: string,
  token: string,
  ttl: string | undefined,
): Promise<Outcome> {
  const grant = await createRuntimeLeases(holdfast).renew(name, holdfast.owner, token, ttl);
  if (grant === null)
    throw new HoldfastError("E_LOCK_NOT_HELD", `this is not the current token of ${name} for ${holdfast.owner}`, {
      details: { resource: RUNTIME + name },
      next: [`holdfast lease status ${name}`, `holdfast lease acquire ${name}`],
    });
  return {
    data: { lease: leaseData(name, holdfast.owner, grant) },
    text: () => `${name} is open for ${leftOf(grant)} more`,
  };
}

/** A lease that is not there to be released is not a failure. */
export async function releaseByName(holdfast: Holdfast, name: string, token: string): Promise<Outcome> {
  const released = await createRuntimeLeases(holdfast).release(name, holdfast.owner, token);
  return {
    data: { name, released },
    text: () => (released ? `${name} is closed` : `nothing to close: this is not the current token of ${name}`),
  };
}

export async function statusByName(holdfast: Holdfast | null, name: string): Promise<Outcome> {
  const status = holdfast === null ? null : await createRuntimeLeases(holdfast).status(name);
  if (status === null || status.grant === null)
    return {
      data: { lease: { name, resource: RUNTIME + name, state: "free", holder: null } },
      text: () => `${name} is free`,
    };
  const { grant, holder, state } = status;
  return {
    data: { lease: { ...leaseData(name, holder ?? grant.owner, grant), state } },
    text: () => `${name} is ${state}: ${holder}, ${leftOf(grant)}`,
  };
}

function leaseData(name: string, holder: string, grant: GrantRecord): Record<string, unknown> {
  const { resource, fencing_token, created_at, last_renewed_at, lease_expires_at, lease_duration_s } = grant;
  return {
    name,
    resource,
    state: "held",
    holder,
    fencing_token,
    created_at,
    last_renewed_at,
    lease_expires_at,
    lease_duration_s,
  };
}

/** Returns the token that was given. A lease by name belongs to its token alone, so no kept token is looked up. */
export function leaseToken({ flags, env, command }: ContextWith<{ readonly token: string | undefined }>): string {
  const token = flags.token ?? env.HOLDFAST_LEASE_TOKEN;
  if (token) return token;
  throw new HoldfastError("E_INVALID_ARGUMENT", "token: give --token, or set HOLDFAST_LEASE_TOKEN", {
    details: { field: "token" },
    next: [`holdfast ${command} --help`],
  });
}
