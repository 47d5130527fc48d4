import { parseKey } from "../../src/lock/key.js";
import type { AcquireRequest, Party } from "../../src/store/contract.js";

export const PARTY: Party = { owner: "agent:a", holderId: "host:me:1:1", nonce: "nonce", proof: { kind: "none" } };

/** A request to write these keys now, as a store gets it, but for what a test changes about it. */
export function acquireRequest(keys: string | readonly string[], change: Partial<AcquireRequest> = {}): AcquireRequest {
  return {
    wants: [keys].flat().map((key) => ({ resource: parseKey(key), mode: "write", permits: null })),
    party: PARTY,
    tokenHash: "hash of the token",
    leaseMs: 30_000,
    graceMs: null,
    detached: false,
    metadata: {},
    presented: [],
    strictOrder: false,
    mustSteal: false,
    waitMs: 0,
    ticketId: null,
    ...change,
  };
}
