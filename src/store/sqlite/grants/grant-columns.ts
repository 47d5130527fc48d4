/**
 * Encodes a grant as the columns of its row: the fixed public ones, the store's own, and `details` for fields that are
 * rarely set.
 */
import { type Grant, type GrantRecord, type Profile, type Proof, SCHEMA_VERSION } from "../../../lock/grant.js";
import { isoTime } from "../../../lock/time.js";
import { decodeGrant } from "../../local/grant-codec.js";
import type { Row } from "../connection/statement.js";
import type { Boots } from "./boots.js";

/** In the order that `toGrant` reads and an insert writes. */
export const COLUMNS = `lock_id, resource, mode, owner, holder_id, nonce, proof, token_hash, fencing_token, created_ms,
  heartbeat_ts, lease_expires, lease_ms, boot, renewed_boot_ms, renewals, metadata, details`;

/** Where the hash of the lease token is among them. */
export const TOKEN_HASH = 7;

/** Left out where it is what most grants have. */
interface RareDetails {
  /** Set by a later version to what only it understands. */
  readonly schema_version?: number;
  readonly profile?: Profile;
  readonly permits?: number;
  readonly detached?: true;
  readonly cover?: string;
  readonly grace_ms?: number;
}

export function rareDetailsOf(grant: Grant): string | null {
  const { profile, permits, detached, cover, graceMs, leaseMs } = grant;
  if (profile === "default" && permits === null && !detached && cover === null && graceMs === leaseMs) return null;
  const details: RareDetails = {
    ...(profile === "default" ? {} : { profile }),
    ...(permits === null ? {} : { permits }),
    ...(detached ? { detached } : {}),
    ...(cover === null ? {} : { cover }),
    ...(graceMs === leaseMs ? {} : { grace_ms: graceMs }),
  };
  return JSON.stringify(details);
}

/** Throws a plain `Error` that says what is wrong with the row. */
export function toGrant(row: Row, boots: Boots): Grant {
  const { bootId, machineId } = boots.at(row[13] as number);
  const details = (row[17] === null ? {} : JSON.parse(row[17] as string)) as RareDetails;
  return decodeGrant({
    schema_version: details.schema_version ?? SCHEMA_VERSION,
    lock_id: row[0] as string,
    resource: row[1] as string,
    mode: row[2] as GrantRecord["mode"],
    owner: row[3] as string,
    holder_id: row[4] as string,
    nonce: row[5] as string,
    created_at: isoTime(row[9] as number),
    last_renewed_at: row[10] as string,
    lease_expires_at: row[11] as string,
    lease_duration_s: (row[12] as number) / 1000,
    fencing_token: row[8] as number,
    metadata: JSON.parse(row[16] as string) as GrantRecord["metadata"],
    store: {
      token_hash: row[TOKEN_HASH] as string,
      profile: details.profile ?? "default",
      permits: details.permits ?? null,
      detached: details.detached ?? false,
      cover: details.cover ?? null,
      proof: JSON.parse(row[6] as string) as Proof,
      boot_id: bootId,
      machine_id: machineId,
      renewed_boot_ms: row[14] as number,
      grace_ms: details.grace_ms ?? (row[12] as number),
      renewals: row[15] as number,
    },
  });
}
