/** What an administrator may have set for an account or a database, as each session finds it. */
import pg from "pg";
import { beforeAll, describe, expect, it } from "vitest";
import { client, keep } from "../../fixtures/postgres/clients.fixture.js";
import { asRole, createLoginRoles } from "../../fixtures/postgres/login-roles.fixture.js";
import { administer, sharedServer, type TestServer } from "../../fixtures/postgres/server.fixture.js";
import { newPostgresStore } from "../../fixtures/postgres/stores.fixture.js";

const isForeign = process.env.HOLDFAST_TEST_POSTGRES_URL !== undefined;

let server: TestServer;
let url: string;
beforeAll(async () => {
  server = await sharedServer();
  await createLoginRoles(server);
  url = await newPostgresStore(server);
  await administer(url, "select holdfast.acquire('{k/1}', 'agent:a', token => 'secret')");
}, 240_000);

const withSetting = (name: string, value: string): string =>
  `${url}&options=${encodeURIComponent(`-c ${name}=${value}`)}`;

describe("STORE-4: settings of an account", () => {
  it("that make a transaction read only, or see an old state, are named with what to do", async () => {
    const refused = {
      default_transaction_read_only: { to: "on", code: "E_STORE_UNAVAILABLE", next: "primary" },
      default_transaction_isolation: { to: "serializable", code: "E_CONFIG", next: "alter role" },
    };
    for (const [name, { to, code, next }] of Object.entries(refused)) {
      const holdfast = await client(withSetting(name, to));
      await expect(holdfast.acquire("other"), name).rejects.toMatchObject({
        code,
        next: [expect.stringContaining(next)],
      });
    }
  });

  it("that change what a text means change no key", async () => {
    const holdfast = await client(withSetting("standard_conforming_strings", "off"));
    for (const key of ["v1.2/ab", "v1.2/x"]) await (await holdfast.acquire(key)).release();
  });

  // kills: postgres-few-connections
  it.skipIf(isForeign)(
    "that allow it fewer connections make calls wait for one another (needs a PostgreSQL server that the tests start)",
    async () => {
      const role = `hf_single_${process.pid}`;
      await administer(server.url, `create role ${role} login in role holdfast_user connection limit 1`);
      const holdfast = await client(asRole(url, role));
      const leases = await Promise.all(["a", "b", "c"].map((key) => holdfast.acquire(key)));
      await Promise.all(leases.map((lease) => lease.release()));
    },
  );
});

describe("STORE-6: a client that leaves its transaction open after a step", () => {
  // kills: postgres-silence
  it.each([
    "holdfast.acquire('{k/2}', 'agent:b')",
    "holdfast.acquire('{k/2}', 'agent:b', lock_ids => array[gen_random_uuid()::text], token => repeat('x', 43))",
    "holdfast.renew('{k/1}', '{secret}')",
    "holdfast.release('{k/1}', '{secret}', 'agent:a')",
    "holdfast.lease_acquire('n', 'h', 60)",
  ])("is cut off by the server when it falls silent: %s", async (call) => {
    const session = new pg.Client({ connectionString: url });
    await session.connect();
    keep({ close: () => session.end() });
    const limit = async () => (await session.query("show idle_in_transaction_session_timeout")).rows[0];
    await session.query("begin");
    await session.query(`select ${call}`);
    expect(await limit()).toEqual({ idle_in_transaction_session_timeout: "5s" });
    await session.query("rollback");
    expect(await limit()).toEqual({ idle_in_transaction_session_timeout: "0" });
  });
});
