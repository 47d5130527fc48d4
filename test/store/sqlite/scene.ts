/** A database in a folder of its own, clients of it with clocks one can set, and a second way in, past the store. */
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach } from "vitest";
import type { Grant } from "../../../src/lock/grant.js";
import type { Key } from "../../../src/lock/key.js";
import type { AcquireRequest, AuditVerdict, Store } from "../../../src/store/contract.js";
import { openSqliteStore } from "../../../src/store/sqlite/open.js";
import { MIGRATIONS, type Migration } from "../../../src/store/sqlite/schema.js";
import type { Clock } from "../../../src/support/clock.js";
import { acquireRequest, PARTY } from "../acquire-request.js";

type Value = string | number | null;
export interface RawDatabase {
  exec(sql: string): void;
  prepare(sql: string): {
    get(...values: Value[]): Record<string, Value> | undefined;
    all(...values: Value[]): Record<string, Value>[];
    run(...values: Value[]): void;
  };
  close(): void;
}

const closers: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

export function newPlace(): string {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-sqlite-"));
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "locks.db");
}

export async function open(
  place: string,
  clock: Clock = clockOf("this boot"),
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<Store> {
  const store = await openSqliteStore(place, {}, clock, migrations);
  closers.push(() => store.close().catch(() => undefined));
  return store;
}

export function openRaw(place: string): RawDatabase {
  const { DatabaseSync } = createRequire(import.meta.url)("@photostructure/sqlite") as {
    DatabaseSync: new (path: string) => RawDatabase;
  };
  const database = new DatabaseSync(place);
  closers.push(() => {
    try {
      database.close();
    } catch {
      // The test has closed it.
    }
  });
  return database;
}

/** A clock that stands still until it is put forward. */
export function stillClock(): Clock & { forward(ms: number): void } {
  const now = { wallMs: Date.now(), bootMs: 1_000, bootId: "this boot", machineId: "this machine" };
  return Object.assign(() => ({ ...now }), {
    forward(ms: number) {
      now.wallMs += ms;
      now.bootMs += ms;
    },
  });
}

export function clockOf(bootId: string): Clock {
  return () => ({ wallMs: Date.now(), bootMs: performance.now(), bootId, machineId: "this machine" });
}

export async function acquire(
  store: Store,
  keys: string | readonly string[],
  change: Partial<AcquireRequest> = {},
): Promise<readonly Grant[]> {
  const answer = await store.locks.acquire(acquireRequest(keys, change));
  if (answer.kind !== "granted") throw new Error(`${[keys].flat().join()} was not granted: ${answer.kind}`);
  return answer.grants;
}

export async function release(store: Store, grants: readonly Grant[]): Promise<void> {
  await store.locks.release(grants, PARTY);
}

/** Takes a key and gives it back, a number of times, and returns the fencing tokens. */
export async function pairs(store: Store, key: string, times: number): Promise<number[]> {
  const tokens: number[] = [];
  for (let time = 0; time < times; time += 1) {
    const grants = await acquire(store, key);
    tokens.push(...grants.map((grant) => grant.fencingToken));
    await release(store, grants);
  }
  return tokens;
}

export async function verify(store: Store, tree: string): Promise<AuditVerdict> {
  return store.reader.verifyAudit(tree as Key);
}
