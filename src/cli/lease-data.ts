/** What the commands on leases by name share. */
import type { GrantRecord } from "../lock/grant.js";
import { HoldfastError } from "../support/errors.js";
import type { Context } from "./context.js";

export function leaseData(name: string, holder: string, grant: GrantRecord): Record<string, unknown> {
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

/** A lease by name is nobody's but the token's: it is not looked up. */
export function leaseToken({ flags, env, command }: Context): string {
  const token = flags.text("token") ?? env.HOLDFAST_LEASE_TOKEN;
  if (token) return token;
  throw new HoldfastError("E_INVALID_ARGUMENT", "token: give --token, or set HOLDFAST_LEASE_TOKEN", {
    details: { field: "token" },
    next: [`holdfast ${command} --help`],
  });
}
