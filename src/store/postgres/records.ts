/**
 * Decodes grants and tickets from the answers of the functions. The server's clock decides; for callers that compare
 * with the clock of this process, moments are converted to that one too, counted back from the moment the answer
 * arrived. So a clock that is wrong by an hour shows wrong times of day and nothing else.
 */
import type { Contention } from "../../lock/contention.js";
import type { Grant, Kept, Metadata, Profile, Proof, Ticket, Want } from "../../lock/grant.js";
import type { Key } from "../../lock/key.js";
import type { Mode } from "../../lock/mode.js";
import type { Instant } from "../../lock/time.js";
import type { Clock } from "../../platform/clock.js";
import { bySeal } from "./locks/token-digest.js";
import type { ToldManifest } from "./publish/manifest-records.js";

export interface TellsTime {
  /** The server's clock, in milliseconds. */
  readonly now: number;
}

export interface ToldGrant {
  readonly lock_id: string;
  readonly resource: Key;
  readonly mode: Mode;
  readonly owner: string;
  readonly holder_id: string;
  readonly nonce: string;
  readonly fencing_token: number;
  readonly metadata: Metadata;
  readonly store: {
    readonly permits: number | null;
    readonly created_ms: number;
    readonly renewed_ms: number;
    readonly lease_ms: number;
    readonly grace_ms: number;
    readonly renewals: number;
    readonly profile: Profile;
    readonly detached: boolean;
    readonly cover: string | null;
    readonly proof: Proof;
    readonly token_hash: string;
  };
}

export interface ToldTicket {
  readonly ticket_id: string;
  readonly number: number;
  readonly owner: string;
  readonly holder_id: string;
  readonly nonce: string;
  readonly proof: Proof;
  readonly entered_ms: number;
  readonly refreshed_ms: number;
  readonly wait_ms: number;
  readonly upgrade_of: string | null;
  readonly wants: readonly Want[];
  readonly kept: readonly Kept[] | null;
}

export type ToldGrants = TellsTime & { readonly grants: readonly ToldGrant[] };
export type ToldFreshGrants = ToldGrants & {
  /** Publishes that nobody finished, on these keys, above or below them. A short way that finds nothing leaves it out. */
  readonly left?: readonly ToldManifest[];
};

export type ToldAnswer =
  | (ToldFreshGrants & { readonly kind: "granted"; readonly ended: readonly ToldGrant[] })
  | { readonly kind: "queued"; readonly ticket_id: string; readonly ahead: number; readonly contention: Contention }
  | { readonly kind: "conflict"; readonly contention: Contention };

/**
 * Turns moments of the server into moments of this process. Make it when the answer has come. Which machine a client is on is
 * not told, so nothing of it is from before a restart of this one.
 */
function createTranslation({ now }: TellsTime, clock: Clock): (serverMs: number) => Instant {
  const here = clock();
  return (serverMs) => ({
    wallMs: serverMs,
    bootMs: here.bootMs - (now - serverMs),
    bootId: here.bootId,
    machineId: "",
  });
}

/** `known`: the hashes that the call sent; a grant under another token gets an empty one. */
export function readGrants(
  answer: TellsTime & { readonly grants: readonly ToldGrant[] },
  clock: Clock,
  known: readonly string[] = [],
): Grant[] {
  const at = createTranslation(answer, clock);
  const hashes = bySeal(known);
  return answer.grants.map(({ store, ...told }) => ({
    lockId: told.lock_id,
    resource: told.resource,
    mode: told.mode,
    permits: store.permits,
    owner: told.owner,
    holderId: told.holder_id,
    nonce: told.nonce,
    createdAt: store.created_ms,
    renewedAt: at(store.renewed_ms),
    leaseMs: store.lease_ms,
    graceMs: store.grace_ms,
    renewals: store.renewals,
    fencingToken: told.fencing_token,
    tokenHash: hashes.get(store.token_hash) ?? "",
    profile: store.profile,
    detached: store.detached,
    cover: store.cover,
    proof: store.proof,
    metadata: told.metadata,
  }));
}

export function readTickets(answer: TellsTime & { readonly waiters: readonly ToldTicket[] }, clock: Clock): Ticket[] {
  const at = createTranslation(answer, clock);
  return answer.waiters.map((told) => ({
    ticketId: told.ticket_id,
    number: told.number,
    wants: told.wants,
    owner: told.owner,
    holderId: told.holder_id,
    nonce: told.nonce,
    proof: told.proof,
    enteredAt: at(told.entered_ms),
    waitMs: told.wait_ms,
    refreshedAt: at(told.refreshed_ms),
    upgradeOf: told.upgrade_of,
    bid: null,
    kept: told.kept,
  }));
}
