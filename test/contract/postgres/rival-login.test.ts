/** Two logins with the role holdfast_user: one of them can neither use nor end what the other holds or waits for. */
import { hash } from "node:crypto";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { openHoldfast } from "../../../src/index.js";
import { openJobs } from "../../../src/jobs.js";
import { asRole, createLoginRoles } from "../../fixtures/postgres/login-roles.fixture.js";
import { administer, sharedServer, type TestServer } from "../../fixtures/postgres/server.fixture.js";
import { newPostgresStore } from "../../fixtures/postgres/stores.fixture.js";

let server: TestServer;
beforeAll(async () => {
  server = await sharedServer();
  await createLoginRoles(server);
}, 240_000);

/** A store, and one statement as each of its accounts. */
async function scene() {
  const url = await newPostgresStore(server);
  const as =
    (role: string) =>
    async (...statements: readonly string[]): Promise<unknown> => {
      const [row] = await administer<Record<string, unknown>>(asRole(url, role), ...statements);
      return Object.values(row ?? {})[0];
    };
  const owner = async (statement: string): Promise<string> =>
    String(Object.values((await administer<Record<string, unknown>>(url, statement))[0] ?? {})[0]);
  return { url, agent: as("hf_agent"), rival: as("hf_rival"), owner };
}

const TOKEN = "hf_0123456789abcdefghijklmnopqrstuv";
const HASH = hash("sha256", TOKEN, "base64url");

describe.skipIf(process.env.HOLDFAST_TEST_POSTGRES_URL !== undefined)(
  "a rival login (needs a PostgreSQL server that the tests start)",
  () => {
    // kills: postgres-seal, postgres-fence-digest
    it("opens nothing with the hash that a table keeps, in any function and behind a guarded table", async () => {
      const { agent, rival, owner } = await scene();
      await owner("drop table if exists public.maps");
      await owner("create table public.maps (a int)");
      await owner("grant insert on public.maps to hf_rival");
      await owner("select holdfast.fence_table('public.maps', 'k')");
      await agent(`select holdfast.acquire('{k}', 'agent:a', lease_ms => 600000, token => '${TOKEN}')`);
      const lease = await agent("select holdfast.lease_acquire('gates', 'A', 600)");
      expect(lease).toMatch(/^hf_/);
      const stored = await owner("select token_hash from holdfast.grants where resource = 'k'");
      const ofLease = await owner("select token_hash from holdfast.grants where resource = 'runtime:gates'");
      const before = await owner("select json_agg(g) from holdfast.grants g");

      for (const shown of [stored, HASH, `sha256:${stored}`]) {
        for (const call of [
          `renew('{k}', '{${shown}}')`,
          `release('{k}', '{${shown}}', 'agent:evil')`,
          `downgrade('{k}', '{${shown}}', 'agent:evil')`,
          `upgrade('k', '${shown}', 'agent:evil')`,
          `resume('{k}', '{${shown}}', array[(holdfast.list('k') -> 'grants' -> 0 ->> 'lock_id')], 'x', 'agent:evil')`,
        ])
          await expect(rival(`select holdfast.${call}`), call).rejects.toMatchObject({ code: "HF003" });
        await expect(rival(`select holdfast.assert_fence('{k}', '{${shown}}')`)).rejects.toMatchObject({
          code: "HF005",
        });
        const forged = JSON.stringify({ keys: ["k"], seals: [shown], digests: [shown] });
        await expect(
          rival("begin", `set local holdfast.asserted = '${forged}'`, "insert into public.maps values (1)"),
        ).rejects.toMatchObject({ code: "HF003" });
        expect(await rival(`select holdfast.inspect('k', '{${shown}}')::text`)).toContain('"token_hash" : ""');
      }
      expect(await rival(`select holdfast.lease_release('gates', 'A', '${ofLease}')`)).toBe(false);
      expect(await rival(`select holdfast.lease_renew('gates', 'A', '${ofLease}', 60)`)).toBe(false);
      expect(await owner("select json_agg(g) from holdfast.grants g")).toBe(before);

      await agent(`select holdfast.renew('{k}', '{${TOKEN}}')`);
      expect(await agent(`select holdfast.lease_release('gates', 'A', '${lease}')`)).toBe(true);
    });

    it("reads no token and no hash of one in any table that it may read, while a job holds a lock", async () => {
      const { url, rival, owner } = await scene();
      const holdfast = await openHoldfast({ store: asRole(url, "hf_agent"), owner: "service:agent", heart: "loop" });
      onTestFinished(() => holdfast.close());
      const jobs = openJobs(holdfast);
      let finish: () => void = () => undefined;
      const finished = new Promise<void>((resolve) => {
        finish = resolve;
      });
      const started = new Promise<void>((resolve) => {
        jobs.define("hold", {}, async (_, run) => {
          resolve();
          await finished;
          await run.lease?.commit(() => undefined);
        });
      });
      jobs.define("plain", {}, async () => undefined);
      const locks = [{ resource: "k", mode: "write" }] as const;
      const job = await jobs.enqueue("hold", null, { project: "p", locks });
      const plain = await jobs.enqueue("plain", null, { project: "p" });
      const worker = jobs.work({ poll: 10 });
      await started;
      const stored = await owner("select token_hash from holdfast.grants where resource = 'k'");
      const readable = await owner(`select string_agg(c.oid::regclass::text, ',') from pg_class c
        where c.relnamespace = 'holdfast'::regnamespace and c.relkind in ('r', 'v', 'm')
          and has_table_privilege('hf_rival', c.oid, 'select')`);
      expect(readable).toContain("holdfast.job_slots");
      for (const table of readable.split(",")) {
        const rows = String(await rival(`select json_agg(x)::text from ${table} x`));
        expect(rows, table).not.toContain(stored);
        expect(rows, table).not.toMatch(/token_?hash/i);
      }
      finish();
      expect(await jobs.wait(job.id, { timeoutMs: 60_000 })).toMatchObject({ state: "done" });
      expect(await jobs.wait(plain.id, { timeoutMs: 60_000 })).toMatchObject({ state: "done" });
      await worker.stop();
    });

    // kills: postgres-job-locks
    it("ends a lock by the functions of jobs only where the lock is that job's", async () => {
      const { agent, rival, owner } = await scene();
      await agent("select holdfast.acquire('{k}', 'agent:a', lease_ms => 600000)");
      const id = await owner("select lock_id from holdfast.grants");
      await rival(`select holdfast.job_release('{k}', '{${id}}', 7, 'agent:evil', 'h')`);
      for (const call of [`job_renew('{k}', '{${id}}', 7)`, `job_check('{k}', '{${id}}', 7)`])
        await expect(rival(`select holdfast.${call}`), call).rejects.toMatchObject({ code: "HF003" });
      expect(await owner("select count(*) from holdfast.grants")).toBe("1");
    });

    // kills: postgres-lease-login
    it("is refused a named lease under the holder's name; the holder's own login gets a new token", async () => {
      const { agent, rival } = await scene();
      const first = await agent("select holdfast.lease_acquire('deploy', 'A', 600)");
      expect(await rival("select holdfast.lease_acquire('deploy', 'A', 600)")).toBeNull();
      expect(await rival("set role holdfast_user", "select holdfast.lease_acquire('deploy', 'A', 600)")).toBeNull();
      expect(await agent(`select holdfast.lease_renew('deploy', 'A', '${first}', 600)`)).toBe(true);
      const second = await agent("select holdfast.lease_acquire('deploy', 'A', 600)");
      expect(second).toMatch(/^hf_/);
      expect(await agent(`select holdfast.lease_renew('deploy', 'A', '${first}', 600)`)).toBe(false);
      expect(await agent(`select holdfast.lease_release('deploy', 'A', '${second}')`)).toBe(true);
      expect(await rival("select holdfast.lease_acquire('deploy', 'A', 600)")).toMatch(/^hf_/);
    });

    it("is refused the lock that the library holds on the key of a named lease, whatever holder it names", async () => {
      const { url, rival } = await scene();
      const holdfast = await openHoldfast({ store: asRole(url, "hf_agent"), owner: "agent:a", heart: "loop" });
      onTestFinished(() => holdfast.close());
      const lease = await holdfast.acquire("runtime:deploy", { ttl: "10m" });
      const [{ holder_id: holder } = { holder_id: "" }] = await holdfast.list();
      expect(await rival(`select holdfast.lease_acquire('deploy', '${holder}', 300)`)).toBeNull();
      await lease.verify();
    });

    // kills: postgres-ticket-login, postgres-ticket-login-short
    it("neither ends nor takes the place of another login in the queue", async () => {
      const { agent, rival, owner } = await scene();
      await agent("select holdfast.acquire('{q}', 'agent:a', lease_ms => 600000, token => 'hf_first')");
      const queued = (owner: string) => `select holdfast.acquire('{q}', '${owner}', wait_ms => 600000) ->> 'ticket_id'`;
      const ticket = await agent(queued("agent:b"));
      await owner("update holdfast.tickets set refreshed_ms = holdfast.now_ms() + 50000");
      await expect(rival(`select holdfast.leave('${ticket}', '{q}', 'agent:b')`)).rejects.toMatchObject({
        code: "HF006",
      });
      await agent("select holdfast.release('{q}', '{hf_first}', 'agent:a')");
      const store = await owner("select store_id from holdfast.store");
      for (const call of [
        `acquire('{q}', 'agent:b', wait_ms => 600000, ticket_id => '${ticket}')`,
        `take('q', 'agent:b', 'write', 30000, null, 600000, '{}', 'sha256:${HASH}', '${ticket}',
          '00000000-0000-8000-8000-000000000000', 'h', 'n', '{"kind":"none"}', true, false, false, '${store}')`,
      ])
        await expect(rival(`select holdfast.${call}`), call).rejects.toMatchObject({ code: "HF006" });
      expect(await owner("select count(*) from holdfast.tickets")).toBe("1");
      const granted = `select holdfast.acquire('{q}', 'agent:b', wait_ms => 600000, ticket_id => '${ticket}') ->> 'kind'`;
      expect(await agent(granted)).toBe("granted");
    });

    // kills: postgres-proven-holds
    it("does not pass the queue with a hold that it invents, and the holder of another key does", async () => {
      const { agent, rival, owner } = await scene();
      await agent("select holdfast.acquire('{q}', 'agent:a', lease_ms => 600000, token => 'hf_first')");
      await agent("select holdfast.acquire('{q}', 'agent:b', wait_ms => 600000)");
      await owner("update holdfast.tickets set refreshed_ms = holdfast.now_ms() + 50000");
      await agent("select holdfast.release('{q}', '{hf_first}', 'agent:a')");
      await agent("select holdfast.acquire('{a}', 'agent:c', lease_ms => 600000, token => 'hf_held')");
      const asking = (token: string) =>
        `select holdfast.acquire('{q}', 'agent:c', presented_keys => '{a}', presented_tokens => '{${token}}') ->> 'kind'`;
      expect(await rival(asking("x"))).toBe("conflict");
      expect(await rival(asking(await owner("select token_hash from holdfast.grants where resource = 'a'")))).toBe(
        "conflict",
      );
      expect(await agent(asking("hf_held"))).toBe("granted");
    });

    // kills: postgres-audit-login
    it("is named in every audit entry that it makes, whatever owner it declares", async () => {
      const { url, rival, owner } = await scene();
      await rival(`select holdfast.job_tell('{1}', '{user:boss}', '{h}', '{1}', '{"{\\"change\\":\\"done\\"}"}')`);
      await rival("select holdfast.acquire('{k}', 'user:boss', token => 'hf_one')");
      await rival("select holdfast.release('{k}', '{hf_one}', 'user:boss')");
      await rival("select holdfast.lease_acquire('gates', 'user:boss', 60)");
      await rival("select holdfast.lease_acquire('gates', 'user:boss', 60)");
      const holdfast = await openHoldfast({ store: asRole(url, "hf_rival"), owner: "user:boss", heart: "loop" });
      onTestFinished(() => holdfast.close());
      await (await holdfast.acquire("k")).release();
      await Promise.all(Array.from({ length: 9 }, async (_, at) => (await holdfast.acquire(`k${at}`)).release()));
      expect(await owner("select count(*) from holdfast.audit where details::json ->> 'login' <> 'hf_rival'")).toBe(
        "0",
      );
      expect(await owner("select count(*) from holdfast.audit where details::json ->> 'login' is null")).toBe("0");
      expect(Number(await owner("select count(*) from holdfast.audit"))).toBeGreaterThan(20);
      expect((await holdfast.audit.verify()).ok).toBe(true);
    });

    // kills: postgres-handed-login
    it("is the login of a key that another login hands over to it", async () => {
      const { url, owner } = await scene();
      const holder = await openHoldfast({ store: asRole(url, "hf_agent"), owner: "agent:a", heart: "loop" });
      const waiter = await openHoldfast({ store: asRole(url, "hf_rival"), owner: "agent:b", heart: "loop" });
      onTestFinished(async () => {
        await holder.close();
        await waiter.close();
      });
      // Only a client that listens already is handed a key.
      const before = await holder.acquire("k", { ttl: "30s" });
      const first = waiter.acquire("k", { ttl: "30s", wait: "1m" });
      const offers = () => owner("select count(*) from holdfast.tickets where offer is not null");
      await expect.poll(() => owner("select count(*) from holdfast.tickets"), { timeout: 60_000 }).toBe("1");
      await before.release();
      await (await first).release();
      const again = await holder.acquire("k", { ttl: "30s" });
      const second = waiter.acquire("k", { ttl: "30s", wait: "1m" });
      await expect.poll(offers, { timeout: 60_000 }).toBe("1");
      await owner("update holdfast.tickets set refreshed_ms = holdfast.now_ms() + 50000");
      await again.release();
      const lease = await second;
      expect(await owner("select login from holdfast.grants")).toBe("hf_rival");
      expect(
        await owner(
          "select details::json ->> 'login' from holdfast.audit where details::json ->> 'handed_over' = 'true'",
        ),
      ).toBe("hf_rival");
      await lease.release();
    });

    it("finds no token in the text of statements, nor in the message of one that fails", async () => {
      const { url, agent, owner } = await scene();
      await agent(`select holdfast.acquire('{k}', 'agent:a', lease_ms => 600000, token => '${TOKEN}')`);
      for (const call of [
        `release('{k}', '{${TOKEN}x}', 'agent:a')`,
        `release('{k}', '{${TOKEN}}', 'nobody')`,
        `assert_fence('{k/below}', '{${TOKEN}x}')`,
        `acquire('{m}', 'agent:a', token => '${TOKEN}', metadata => '{')`,
      ])
        await expect(agent(`select holdfast.${call}`), call).rejects.toSatisfy((error: Error) => {
          const told = JSON.stringify({ ...error, message: error.message });
          return !told.includes(TOKEN) && !told.includes(HASH);
        });
      const holdfast = await openHoldfast({ store: asRole(url, "hf_agent"), owner: "agent:a", heart: "loop" });
      onTestFinished(() => holdfast.close());
      const lease = await holdfast.acquire("own");
      await lease.renew();
      const texts = await owner("select string_agg(query, ' ') from pg_stat_activity where usename = 'hf_agent'");
      expect(texts).toContain("holdfast.");
      expect(texts).not.toContain(hash("sha256", lease.token, "base64url"));
      expect(texts).not.toContain(lease.token);
    });
  },
);

describe("arguments that make no sense", () => {
  it("a ticket of a request for other keys is refused by name", async () => {
    const url = await newPostgresStore(server);
    const ask = async (call: string) =>
      (await administer<{ told: { ticket_id: string } }>(url, `select holdfast.${call} as told`))[0]?.told.ticket_id;
    await ask("acquire('{q/a,q/b}', 'agent:a', lease_ms => 600000)");
    const ticket = await ask("acquire('{q/a}', 'agent:b', wait_ms => 600000)");
    await expect(ask(`acquire('{q/b}', 'agent:b', wait_ms => 600000, ticket_id => '${ticket}')`)).rejects.toMatchObject(
      {
        code: "HF007",
        message: expect.stringContaining("ticket_id:"),
      },
    );
  });

  it.each([
    ["renew('{{a,b}}', '{x}')", "keys"],
    ["renew('{{a}}', '{x}')", "keys"],
    ["release('{{a,b}}', '{x}', 'agent:a')", "keys"],
    ["downgrade('{{a,b}}', '{x}', 'agent:a')", "keys"],
    ["acquire('{{a,b}}', 'agent:a')", "key"],
    ["acquire('{{a}}', 'agent:a')", "key"],
    ["assert_fence('{{a}}', '{x}')", "keys"],
    ["assert_fence('{NULL}', '{x}')", "keys"],
    ["assert_fence_told('{{a}}', '{x}', 'restore', '{}', 'agent:a')", "keys"],
    ["resume('{a}', '{x}', '{}', null, 'agent:a')", "new_token"],
    ["lease_acquire('gates', 'A', 'NaN')", "ttl_seconds"],
    ["lease_acquire('gates', 'A', 0)", "ttl_seconds"],
    ["lease_acquire('gates', 'A', 1e30)", "ttl_seconds"],
    ["lease_acquire('gates', 'A', null)", "ttl_seconds"],
    ["lease_renew('gates', 'A', 'x', 'NaN')", "ttl_seconds"],
    ["job_add('{}', 'agent:a', 'h')", "spec"],
    ["job_add('{}', 'boss', 'h')", "owner"],
    ["job_tell('{1}', '{boss}', '{h}', '{1}', '{\"{}\"}')", "owner"],
    ["job_tell('{1}', '{user:a}', '{h}', '{1}', '{NULL}')", "details"],
    ["job_enqueue('{}')", "kind"],
  ])("%s is refused by the name of the argument, %s", async (call, field) => {
    const url = await newPostgresStore(server);
    await expect(administer(url, `select holdfast.${call}`)).rejects.toMatchObject({
      code: "HF007",
      message: expect.stringContaining(`${field}:`),
    });
  });
});
