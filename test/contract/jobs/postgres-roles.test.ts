/** Jobs by an account that may do what the role holdfast_user allows, and nothing else. */
import pg from "pg";
import { beforeAll, describe, expect, it } from "vitest";
import { openJobs } from "../../../src/features/jobs/jobs.js";
import { openHoldfast } from "../../../src/index.js";
import { Place } from "../../fixtures/jobs/jobs.fixture.js";
import { asRole, createLoginRoles } from "../../fixtures/postgres/login-roles.fixture.js";
import { administer, sharedServer } from "../../fixtures/postgres/server.fixture.js";

const WAIT = { timeoutMs: 240_000 };
const P = { project: "alpha" };
const isForeign = process.env.HOLDFAST_TEST_POSTGRES_URL !== undefined;

describe.skipIf(isForeign)(
  "JOB-1, STORE-4: jobs as holdfast_user (needs a PostgreSQL server that the tests start)",
  () => {
    beforeAll(async () => createLoginRoles(await sharedServer()), 240_000);

    it("are added, run, settled, listed, cancelled and begun anew; the tables of locks stay closed", async () => {
      await using place = new Place("postgres");
      const url = await place.store();
      await administer(
        url,
        "drop table if exists public.ends",
        "create table public.ends (job bigint)",
        "grant insert, select on public.ends to hf_agent",
      );
      const store = asRole(url, "hf_agent");
      const holdfast = await openHoldfast({ store, owner: "service:agent", heart: "loop" });
      const jobs = openJobs(holdfast);
      jobs.define("row", { attempts: 1 }, async (job, run) => {
        await run.lease?.commit(() => undefined);
        run.progress("half");
        run.onSettle((sql) => sql.query("insert into public.ends values ($1)", [job.id]));
        if (job.payload === "bad") throw new Error("bad");
        return job.payload;
      });
      await jobs.setCaps({ maxGlobalJobs: 3 });
      await jobs.setKeep({ done: "1h" });
      await jobs.setProject("alpha", { cap: 2, weight: 2 });
      const locks = [{ resource: "k", mode: "write" }] as const;
      const good = await jobs.enqueue("row", "good", { ...P, locks });
      const bad = await jobs.enqueue("row", "bad", P);
      const schedule = await jobs.enqueue("row", null, { ...P, cron: "0 3 * * *", unique: "nightly" });
      const later = await jobs.enqueue("row", null, { ...P, delay: "1h" });
      expect((await jobs.lanes()).lanes).toMatchObject([{ project: "alpha", cap: 2, ready: 2 }]);

      const client = new pg.Client({ connectionString: store });
      await client.connect();
      await client.query("begin");
      const inTransaction = await jobs.enqueueIn(client, "row", "mine", P);
      await client.query("commit");
      await expect(client.query("select * from holdfast.grants")).rejects.toMatchObject({ code: "42501" });
      await expect(client.query("update holdfast.trees set fence = 0")).rejects.toMatchObject({ code: "42501" });
      await client.end();

      const worker = jobs.work({ poll: 10 });
      expect(await jobs.wait(good.id, WAIT)).toMatchObject({ state: "done", result: "good" });
      expect(await jobs.wait(bad.id, WAIT)).toMatchObject({ state: "failed", error: { message: "bad" } });
      expect(await jobs.wait(inTransaction, WAIT)).toMatchObject({ state: "done", result: "mine" });
      expect((await jobs.cancel(later.id)).state).toBe("cancelled");
      expect((await jobs.cancel(schedule.id)).state).toBe("cancelled");
      await jobs.retry(later.id);
      expect((await jobs.wait(later.id, WAIT)).state).toBe("done");
      await worker.stop();
      const ended = (await jobs.list()).map(({ id, state }) => `${id} ${state}`);
      expect(ended).toEqual([
        `${good.id} done`,
        `${bad.id} failed`,
        `${schedule.id} cancelled`,
        `${later.id} done`,
        `${inTransaction} done`,
      ]);
      expect(await administer(url, "select count(*)::int as rows from public.ends")).toEqual([{ rows: 3 }]);
      expect(await administer(url, "select 1 from holdfast.grants")).toEqual([]);
      await holdfast.close();
    });

    it("are closed to anybody else", async () => {
      await using place = new Place("postgres");
      const stranger = asRole(await place.store(), "hf_stranger");
      for (const statement of [
        "select * from holdfast.jobs",
        `select holdfast.job_enqueue('{"kind":"k","project":"p"}')`,
      ])
        await expect(administer(stranger, statement)).rejects.toMatchObject({ code: "42501" });
    });
  },
);
