/**
 * Servers that are lost, and copies of them that go on: a copy of the files, a dump, a standby that was behind. Numbers that
 * the lost server gave out are never given out again, and none that comes later is lower.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  administer,
  copyOf,
  databaseOf,
  inDatabase,
  ownServer,
  type TestServer,
} from "../../fixtures/postgres/server.fixture.js";
import { newPostgresStore } from "../../fixtures/postgres/stores.fixture.js";

const LIMIT = 240_000;
const DEBIAN = "/usr/lib/postgresql/15/bin";

function own(server: TestServer): TestServer & { control: NonNullable<TestServer["control"]> } {
  const { url, control } = server;
  if (control === null) throw new Error("a server of its own");
  onTestFinished(() => {
    try {
      control.crash();
    } catch {
      // It was stopped already.
    }
  });
  return { url, control };
}

/** The number of a new grant on a key that is free. */
async function number(url: string, key = "svc/a", owner = "agent:a"): Promise<number> {
  const [row] = await administer<{ token: number }>(
    url,
    `select (holdfast.acquire('{${key}}', '${owner}', lease_ms => 600000) -> 'grants' -> 0 ->> 'fencing_token')::float8 as token`,
  );
  return row?.token ?? 0;
}

async function restarted(server: TestServer, url: string): Promise<void> {
  server.control?.crash();
  server.control?.start();
  await administer(url, "select 1");
}

describe("a server that was lost", { timeout: LIMIT }, () => {
  // kills: postgres-fence-by-the-clock
  it("a copy of its files mints higher numbers, however often it was restarted after the copy was made", async () => {
    const server = own(ownServer({ isDurable: true }));
    const url = await newPostgresStore(server);
    await number(url);
    server.control.stop();
    const copy = own(copyOf(server));
    server.control.start();
    const lost = [await number(url, "svc/b")];
    for (const key of ["svc/c", "svc/d", "svc/e"]) {
      await restarted(server, url);
      lost.push(await number(url, key));
    }
    server.control.crash();
    expect(lost).toEqual([...new Set(lost)].sort((one, other) => one - other));

    copy.control.start();
    const next = await number(url.replace(server.control.socket, copy.control.socket), "svc/b");
    expect(next).toBeGreaterThan(lost.at(-1) ?? 0);
  });

  it("a standby that was behind gives no number of a gone holder to the next one", async () => {
    const server = own(ownServer({ isDurable: true }));
    const url = await newPostgresStore(server);
    await number(url, "svc/before");
    server.control.stop();
    const standby = own(copyOf(server));
    standby.control.follow(server.control.socket);
    server.control.start();
    standby.control.start();
    const there = url.replace(server.control.socket, standby.control.socket);
    const last = await number(url, "svc/replicated");
    await vi.waitUntil(
      async () => (await administer(there, `select 1 from holdfast.grants where fencing_token = ${last}`)).length === 1,
      { timeout: 60_000, interval: 50 },
    );
    standby.control.stop();

    await killBackend(url);
    const gone = await number(url, "svc/gone", "agent:gone");
    server.control.crash();
    standby.control.start();
    standby.control.promote();
    const next = await number(there, "svc/gone", "agent:new");
    expect(next).toBeGreaterThan(gone);
    const stale = administer(there, `select holdfast.verify('svc/gone', ${gone})`);
    await expect(stale).rejects.toThrow("E_FENCING_MISMATCH");
  });

  // kills: postgres-epoch-database
  it("a database that was copied before the loss mints higher numbers", async () => {
    const server = own(ownServer({ isDurable: true }));
    const url = await newPostgresStore(server);
    await number(url);
    await administer(server.url, `create database restored template ${databaseOf(url)}`);
    const lost = [await number(url, "svc/b"), await number(url, "svc/c")];
    expect(await number(inDatabase(url, "restored"), "svc/b")).toBeGreaterThan(Math.max(...lost));
  });
});

const canDump = existsSync(join(DEBIAN, "pg_dump")) && existsSync(join(DEBIAN, "initdb"));

describe.skipIf(!canDump)(`a dump (needs pg_dump and initdb in ${DEBIAN})`, { timeout: LIMIT }, () => {
  it("restored by pg_restore mints higher numbers than the server that was lost", async () => {
    const server = own(ownServer({ isDurable: true, binaries: DEBIAN }));
    const url = await newPostgresStore(server);
    await number(url);
    const dump = join(mkdtempSync(join(tmpdir(), "holdfast-dump-")), "dump");
    const at = ["-h", server.control.socket, "-U", "postgres"];
    execFileSync(join(DEBIAN, "pg_dump"), [...at, "-Fc", "-f", dump, databaseOf(url)]);
    const lost: number[] = [];
    for (const key of ["svc/b", "svc/c", "svc/d"]) {
      lost.push(await number(url, key));
      await restarted(server, url);
    }
    lost.push(await number(url, "svc/e"));
    await administer(server.url, "create database restored");
    execFileSync(join(DEBIAN, "pg_restore"), [...at, "-d", "restored", dump]);
    expect(await number(inDatabase(url, "restored"), "svc/b")).toBeGreaterThan(Math.max(...lost));
  });
});

/** One backend that is killed takes the memory of the server with it: the same server begins anew. */
async function killBackend(url: string): Promise<void> {
  const victim = new pg.Client({ connectionString: url });
  victim.on("error", () => undefined);
  await victim.connect();
  const { rows } = await victim.query("select pg_backend_pid() as pid");
  const isGone = new Promise((resolve) => victim.once("end", resolve));
  process.kill(rows[0].pid, "SIGKILL");
  await isGone;
  for (let times = 0; ; times += 1)
    try {
      await administer(url, "select 1");
      return;
    } catch (error) {
      if (times > 600) throw error;
      await sleep(50);
    }
}
