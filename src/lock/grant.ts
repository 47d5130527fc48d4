/**
 * The values of the rules: a grant is one holder's hold on one key; a ticket is one request's place in the queue. Both
 * are plain values: stores keep them, rules judge them, nothing mutates them.
 */
import type { Key } from "./key.js";
import type { Hold, Mode } from "./mode.js";
import { WORKTREE } from "./reserved-kinds.js";
import { type Instant, isoTime } from "./time.js";

export const SCHEMA_VERSION = 1;

/**
 * How a holder's death can be proven. `file`: a kernel lock on the proof file with this identity. `pid`: a process this
 * machine can look up. `none`: nothing to try, only the lease counts. An `inherited` proof is shared with the command a
 * run started: while any of them lives the grant is not recoverable, expired or not.
 */
export type Proof =
  | { readonly kind: "file"; readonly file: string; readonly inherited: boolean }
  | {
      readonly kind: "pid";
      readonly pid: number;
      /** Empty when the system does not tell. */
      readonly startTime: string;
      readonly pidNamespace: string;
      /** Of the kernel that the pid is on; empty when it is unknown. */
      readonly bootId: string;
    }
  | { readonly kind: "none" };

export interface Grant extends Hold {
  readonly lockId: string;
  readonly resource: Key;
  readonly mode: Mode;
  readonly owner: string;
  readonly holderId: string;
  /** Names the holder process uniquely, also across pid reuse. */
  readonly nonce: string;
  readonly createdAt: number;
  /** When the lease was last renewed; with `leaseMs` it says when it ends. */
  readonly renewedAt: Instant;
  readonly leaseMs: number;
  /** Profile `dal` only: how long without a heartbeat before recovery. */
  readonly graceMs: number;
  readonly renewals: number;
  readonly fencingToken: number;
  readonly tokenHash: string;
  readonly profile: Profile;
  /** Taken without a process to outlive: only its lease counts. */
  readonly detached: boolean;
  /** The grant this one nests in; it has the same fencing token and must outlive this one. */
  readonly cover: string | null;
  readonly proof: Proof;
  readonly metadata: Metadata;
}

export type Metadata = { readonly [name: string]: unknown };

export const PROFILES = ["default", "lease", "dal", "strict"] as const;
export type Profile = (typeof PROFILES)[number];

/** A record that exists but cannot be read, or was written by a newer version. It counts as held. */
export interface UnreadableGrant {
  readonly resource: Key;
  readonly why: string;
  /** Written by a newer version: not broken, only not for this one to read. */
  readonly isNewer?: true;
}

export interface Want extends Hold {
  readonly resource: Key;
}

export interface Ticket {
  readonly ticketId: string;
  /** Every line sorts by it. Upgrades have 0: they stand at the head. */
  readonly number: number;
  readonly wants: readonly Want[];
  readonly owner: string;
  readonly holderId: string;
  readonly nonce: string;
  readonly proof: Proof;
  readonly enteredAt: Instant;
  /** How long the request is ready to wait in all. */
  readonly waitMs: number;
  /** A ticket not refreshed for `TICKET_LEASE_MS` has lost its place. */
  readonly refreshedAt: Instant;
  /** The grant this request converts, when it is an upgrade. */
  readonly upgradeOf: string | null;
  /** What whoever releases the key needs to grant it to this waiter; null when the waiter has to ask for it. */
  readonly bid: Bid | null;
  /** Grants that its process keeps until the wait ends, as the process itself says; null or absent where it does not say so. */
  readonly kept?: readonly Kept[] | null;
}

/** A grant, by its key and id. */
export interface Kept {
  readonly resource: Key;
  readonly lockId: string;
}

/** When its process showed itself the last time. */
export function seenAt(of: Grant | Ticket): Instant {
  return "renewedAt" in of ? of.renewedAt : of.refreshedAt;
}

/** The part of a request that its grant is made of and a ticket does not have anyway. */
export interface Bid {
  readonly tokenHash: string;
  readonly leaseMs: number;
  readonly graceMs: number;
  readonly metadata: Metadata;
}

/** What everybody may see of a grant: the fields of the record, without the hash of the lease token. */
export interface GrantRecord {
  readonly schema_version: number;
  readonly lock_id: string;
  readonly resource: string;
  readonly mode: Mode;
  readonly owner: string;
  readonly holder_id: string;
  readonly nonce: string;
  readonly created_at: string;
  readonly last_renewed_at: string;
  readonly lease_expires_at: string;
  readonly lease_duration_s: number;
  readonly fencing_token: number;
  readonly metadata: Metadata;
  /** Of a lock `worktree:ID`. */
  readonly worktree_id?: string;
}

export function toRecord(grant: Grant): GrantRecord {
  const record: GrantRecord = {
    schema_version: SCHEMA_VERSION,
    lock_id: grant.lockId,
    resource: grant.resource,
    mode: grant.mode,
    owner: grant.owner,
    holder_id: grant.holderId,
    nonce: grant.nonce,
    created_at: isoTime(grant.createdAt),
    last_renewed_at: isoTime(grant.renewedAt.wallMs),
    lease_expires_at: isoTime(grant.renewedAt.wallMs + grant.leaseMs),
    lease_duration_s: grant.leaseMs / 1000,
    fencing_token: grant.fencingToken,
    metadata: grant.metadata,
  };
  return isWorktree(grant.resource) ? { ...record, worktree_id: grant.resource.slice(WORKTREE.length) } : record;
}

function isWorktree(resource: Key): boolean {
  return resource.startsWith(WORKTREE) && resource.length > WORKTREE.length && !resource.includes("/");
}
