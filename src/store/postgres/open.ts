/**
 * Opens `postgres://…`, the store for several machines. The rules of locking run in the server, as functions of the
 * schema `holdfast`, under the server's clock; see sql/. Opening creates nothing: a server without the schema is
 * refused, because it may be the empty stand-in of one that was lost. The identity of the store that was found is
 * remembered and named in every call.
 */

import { isHoldfastError } from "../../base/errors.js";
import { lostStore } from "../../base/lost-store.js";
import { withoutPassword } from "../../base/without-password.js";
import type { Profile } from "../../lock/grant.js";
import { assertAgree, type Settings } from "../../lock/settings.js";
import type { Clock } from "../../platform/clock.js";
import type { Store } from "../contract.js";
import { firstSettings } from "../first-settings.js";
import { lacks } from "../lacking-ability.js";
import { call } from "./connection/call.js";
import { type Connection, connect } from "./connection/connection.js";
import { createTransactions } from "./dal/transactions.js";
import { createScripts } from "./jobs/scripts.js";
import { createFence } from "./locks/fence.js";
import { createLocks, partyOf } from "./locks/locks.js";
import { createNamedLeases } from "./locks/named-leases.js";
import { assertKnownVersion } from "./migrate.js";
import { createManifests } from "./publish/manifests.js";
import { createReader } from "./reader.js";

export interface ToldStore {
  readonly store_id: string;
  readonly levels: readonly string[];
  readonly profile_prefixes: readonly string[];
  readonly profile_names: readonly Profile[];
}

export async function openPostgresStore(
  url: string,
  stated: Partial<Settings>,
  clock: Clock,
  expectedId?: string,
): Promise<Store> {
  const connection = connect(url);
  try {
    assertKnownVersion(await connection.ask<number>(() => call("version", {})), connection.where);
    // mutant: postgres-expected: if (expectedId !== undefined) assertIs → if (expectedId === "") assertIs
    if (expectedId !== undefined) assertIs(expectedId, await storeIdAt(connection), url);
    const told = await meet(connection, firstSettings(stated));
    const settings = settingsOf(told);
    assertAgree(settings, stated);
    return createStore(url, connection, told.store_id, settings, clock);
  } catch (error) {
    await connection.close();
    throw error;
  }
}

/** Returns the id of the store on a server, or null where no client has begun one. Changes nothing. */
export async function identifyPostgresStore(url: string): Promise<string | null> {
  const connection = connect(url);
  try {
    return await storeIdAt(connection);
  } catch (error) {
    if (isHoldfastError(error, "E_STORE_UNAVAILABLE") && error.details.reason === "no_store") return null;
    throw error;
  } finally {
    await connection.close();
  }
}

async function storeIdAt(connection: Connection): Promise<string | null> {
  return (await connection.ask<{ readonly store_id: string | null }>(() => call("described", {}))).store_id;
}

function assertIs(expectedId: string, foundId: string | null, url: string): void {
  if (foundId === expectedId) return;
  const place = withoutPassword(url);
  throw foundId === null ? lostStore(place, "emptied", expectedId) : lostStore(place, "replaced", expectedId, foundId);
}

export function settingsOf({ levels, profile_prefixes, profile_names }: Omit<ToldStore, "store_id">): Settings {
  return {
    levels,
    profiles: Object.fromEntries(profile_prefixes.map((prefix, at) => [prefix, profile_names[at] ?? "default"])),
  };
}

function meet(connection: Connection, { levels, profiles }: Settings): Promise<ToldStore> {
  return connection.ask<ToldStore>(() =>
    call("open", {
      levels,
      profile_prefixes: Object.keys(profiles),
      profile_names: Object.values(profiles),
    }),
  );
}

function createStore(url: string, connection: Connection, storeId: string, settings: Settings, clock: Clock): Store {
  const { wakeUps } = connection;
  const nonces = new Set<string>();
  const manifests = createManifests(connection, storeId);
  return {
    url,
    id: storeId,
    settings,
    abilities: { handsOver: false, commitsFree: false, clearsUnreadable: false, commandsInherit: false },
    locks: createLocks(connection, storeId, clock, manifests.settleLeft),
    fence: createFence(connection, storeId, clock),
    transactions: createTransactions(connection, storeId),
    reader: createReader(connection, storeId, settings, clock),
    upkeep: {
      clearUnreadable: lacks("clearsUnreadable"),
      // PostgreSQL writes a bigint as text.
      raiseFence: async (tree, above, party) =>
        Number(await connection.ask(() => call("raise_fence", { tree, above, ...partyOf(party), store: storeId }))),
      dropStaleTickets: (tree) => connection.ask<number>(() => call("drop_stale_tickets", { tree, store: storeId })),
    },
    namedLeases: createNamedLeases(connection, storeId, manifests.settleLeft),
    wakeUps,
    manifests,
    adoptWorkspace: (id) => connection.ask<string>(() => call("adopt_workspace", { id, store: storeId })),
    assertInPlace() {},
    scripts: createScripts(connection, storeId, clock, manifests.settleLeft),
    prove(nonce) {
      nonces.add(nonce);
      // The server takes nobody's word for a death: only the lease counts.
      return { kind: "file", file: "postgres", inherited: false };
    },
    proveForCommand: lacks("commandsInherit"),
    async close() {
      for (const nonce of nonces) wakeUps.forget(nonce);
      await manifests.close();
      await connection.close();
    },
  };
}
