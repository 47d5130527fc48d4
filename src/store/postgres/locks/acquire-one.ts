/**
 * Acquires one key by the short way: the server answers with what only it knows, and the rest of the grant is taken
 * from the request. A waiter that is granted the key learns of it in the same form, by a notification. Any client may
 * send one, so it is signed with a secret that only the server and this client know: the seal of the lease token.
 */
import { hash } from "node:crypto";
import type { Grant, Profile } from "../../../lock/grant.js";
import type { Clock } from "../../../platform/clock.js";
import type { AcquireRequest } from "../../contract.js";
import { type Call, callOf } from "../connection/call.js";
import type { TellsTime } from "../records.js";
import { lockIdFor } from "./lock-ids.js";
import { digestOf, sealOf } from "./token-digest.js";

export interface ToldTaken extends TellsTime {
  readonly kind: "taken";
  readonly fencing_token: number;
  /** The first lease of what was handed over is shorter than what was asked for. */
  readonly lease_ms: number;
  readonly profile: Profile;
}

const take = callOf("take", [
  "key",
  "owner",
  "mode",
  "lease_ms",
  "grace_ms",
  "wait_ms",
  "metadata",
  "token",
  "ticket_id",
  "lock_id",
  "holder_id",
  "nonce",
  "proof",
  "detached",
  "strict_order",
  "is_listening",
  "store",
]);

/** Null for a request that is not of this kind. */
export function takeCall(request: AcquireRequest, store: string, isListening: boolean): Call | null {
  const { wants, party, tokenHash } = request;
  const [want] = wants;
  const isSimple = wants.length === 1 && request.presented.length === 0 && !request.mustSteal;
  if (want === undefined || want.permits !== null || !isSimple) return null;
  return take([
    want.resource,
    party.owner,
    want.mode,
    request.leaseMs,
    request.graceMs,
    Math.ceil(request.waitMs),
    JSON.stringify(request.metadata),
    digestOf(tokenHash),
    request.ticketId,
    lockIdFor(want.resource, tokenHash),
    party.holderId,
    party.nonce,
    JSON.stringify(party.proof),
    request.detached,
    request.strictOrder,
    isListening,
    store,
  ]);
}

export function readTaken(told: ToldTaken, request: AcquireRequest, clock: Clock): Grant[] {
  const { party, tokenHash } = request;
  const { bootMs, bootId } = clock();
  return request.wants.map(({ resource, mode }) => ({
    lockId: lockIdFor(resource, tokenHash),
    resource,
    mode,
    permits: null,
    owner: party.owner,
    holderId: party.holderId,
    nonce: party.nonce,
    createdAt: told.now,
    renewedAt: { wallMs: told.now, bootMs, bootId, machineId: "" },
    leaseMs: told.lease_ms,
    graceMs: request.graceMs ?? request.leaseMs,
    renewals: 0,
    fencingToken: told.fencing_token,
    tokenHash,
    profile: told.profile,
    detached: request.detached,
    cover: null,
    proof: party.proof,
    metadata: request.metadata,
  }));
}

/** What came with a wake-up; null when it is not the server that signed it. */
export function readHandedOver(told: string, ticketId: string, tokenHash: string): ToldTaken | null {
  const signature = told.slice(0, 64);
  const answer = told.slice(65);
  // mutant: postgres-handed-forged: "hex") === signature ? → "hex") !== "" ?
  return hash("sha256", `${sealOf(tokenHash)} ${ticketId} ${answer}`, "hex") === signature ? JSON.parse(answer) : null;
}
