/** Batches acquires and releases of one key each into one statement (sql/verbs/47-each.sql). */
import { treeOf } from "../../../lock/key.js";
import type { AcquireRequest, GrantRef, Party } from "../../contract.js";
import { type Call, callOf } from "../connection/call.js";
import type { Connection } from "../connection/connection.js";
import type { ToldAnswer } from "../records.js";
import type { ToldTaken } from "./acquire-one.js";
import { createConvoy, type Route, type Shared, type Traffic } from "./convoy.js";
import { lockIdFor } from "./lock-ids.js";
import { digestOf } from "./token-digest.js";

type Told = ToldAnswer | ToldTaken;

/** A request, and whether it was asked by one that hears what it is given. */
export interface Ask {
  readonly request: AcquireRequest;
  readonly isListening: boolean;
}

export interface OneRelease {
  readonly ref: GrantRef;
  readonly party: Party;
}

const takeEach = callOf("take_each", [
  "keys",
  "tokens",
  "lock_ids",
  "owner",
  "mode",
  "lease_ms",
  "grace_ms",
  "holder_id",
  "nonce",
  "proof",
  "detached",
  "store",
]);
const releaseEach = callOf("release_each", ["keys", "tokens", "lock_ids", "owner", "holder_id", "store"]);

/** True for a first ask that another could be like. */
export function mayShare({ wants, presented, mustSteal, ticketId, metadata }: AcquireRequest): boolean {
  return (
    wants.length === 1 &&
    wants[0]?.permits === null &&
    presented.length === 0 &&
    !mustSteal &&
    ticketId === null &&
    Object.keys(metadata).length === 0
  );
}

export function createTakes(
  connection: Connection,
  store: string,
  traffic: Traffic,
  alone: (ask: Ask, again: boolean) => Promise<Told>,
): (ask: Ask) => Promise<Told> {
  const route: Route<Ask, Told> = {
    treeOf: ({ request }) => treeOf(wantOf(request).resource),
    fits: ({ request: first }, { request: other }) =>
      first.party === other.party &&
      wantOf(first).mode === wantOf(other).mode &&
      first.leaseMs === other.leaseMs &&
      first.graceMs === other.graceMs &&
      first.detached === other.detached,
    async send(asks) {
      const [{ request: first }] = asks;
      const requests = asks.map(({ request }) => request);
      const { party, leaseMs, graceMs, detached } = first;
      const keys = requests.map((request) => wantOf(request).resource);
      const tokens = requests.map(({ tokenHash }) => digestOf(tokenHash));
      const ids = requests.map((request) => lockIdFor(wantOf(request).resource, request.tokenHash));
      const proof = JSON.stringify(party.proof);
      const { told, again } = await askOnce<Readonly<Record<string, ToldTaken>>>(
        connection,
        takeEach([
          keys,
          tokens,
          ids,
          party.owner,
          wantOf(first).mode,
          leaseMs,
          graceMs,
          party.holderId,
          party.nonce,
          proof,
          detached,
          store,
        ]),
      );
      return { told: ids.map((id) => told[id]), again };
    },
    alone,
  };
  return createConvoy(route, traffic);
}

/** Told `true` by the shared statement and alone alike. */
export function createReleases(
  connection: Connection,
  store: string,
  traffic: Traffic,
  alone: (release: OneRelease, again: boolean) => Promise<true>,
): (release: OneRelease) => Promise<true> {
  const route: Route<OneRelease, true> = {
    treeOf: ({ ref }) => treeOf(ref.resource),
    fits: (first, other) => first.party === other.party,
    async send(releases): Promise<Shared<true>> {
      const { owner, holderId } = releases[0].party;
      const keys = releases.map(({ ref }) => ref.resource);
      const tokens = releases.map(({ ref }) => digestOf(ref.tokenHash));
      const ids = releases.map(({ ref }) => ref.lockId);
      const { told, again } = await askOnce<readonly string[]>(
        connection,
        releaseEach([keys, tokens, ids, owner, holderId, store]),
      );
      const gone = new Set(told);
      return { told: ids.map((id) => (gone.has(id) ? true : undefined)), again };
    },
    alone,
  };
  return createConvoy(route, traffic);
}

function wantOf({ wants: [want] }: AcquireRequest): AcquireRequest["wants"][number] {
  if (want === undefined) throw new RangeError("a request wants at least one key");
  return want;
}

async function askOnce<T>(connection: Connection, call: Call): Promise<{ readonly told: T; readonly again: boolean }> {
  let wasSentAgain = false;
  const told = await connection.askText((again) => {
    wasSentAgain ||= again;
    return call;
  });
  return { told: JSON.parse(told ?? "null"), again: wasSentAgain };
}
