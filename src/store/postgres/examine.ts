/**
 * Examines a store on a server for the doctor, through the functions that change nothing. The server's own tools check
 * the rest.
 */
import { createSystemClock } from "../../platform/clock.js";
import type { Examination } from "../contract.js";
import { call } from "./connection/call.js";
import { type Connection, connect } from "./connection/connection.js";
import { assertKnownVersion, functionsMark } from "./migrate.js";
import { settingsOf, type ToldStore } from "./open.js";
import { listManifests } from "./publish/manifest-records.js";
import { createReader } from "./reader.js";

interface ToldServer extends Omit<ToldStore, "store_id"> {
  /** Null before anybody has opened it. */
  readonly store_id: string | null;
  readonly functions_hash: string;
  readonly fsync: string;
  readonly synchronous_commit: string;
  readonly full_page_writes: string;
}

export async function examinePostgresStore(url: string): Promise<Examination | null> {
  const connection = connect(url);
  try {
    const examination = await look(url, connection);
    if (examination === null) await connection.close();
    return examination;
  } catch (error) {
    await connection.close();
    throw error;
  }
}

async function look(url: string, connection: Connection): Promise<Examination | null> {
  assertKnownVersion(await connection.ask<number>(() => call("version", {})), connection.where);
  const told = await connection.ask<ToldServer>(() => call("described", {}));
  const { store_id: storeId } = told;
  if (storeId === null) return null;
  const settings = settingsOf(told);
  const { fsync, synchronous_commit, full_page_writes } = told;
  const forgetful = Object.entries({ fsync, synchronous_commit, full_page_writes })
    .filter(([, value]) => value === "off")
    .map(([name]) => `${name} = off`);
  const isOutdated = told.functions_hash !== functionsMark();
  // Functions of another version may lack this one.
  const closedRoles = isOutdated ? [] : await connection.ask<readonly string[]>(() => call("closed_roles", {}));
  return {
    url,
    id: storeId,
    reader: createReader(connection, storeId, settings, createSystemClock()),
    manifests: { list: (page) => listManifests(connection, storeId, page) },
    settings,
    proofs: null,
    guards: [],
    integrity: () => [],
    server: { isOutdated, forgetful, closedRoles },
    close: () => connection.close(),
  };
}
