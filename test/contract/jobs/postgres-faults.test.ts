/** What only a server can do to jobs: lose an answer, be away for a while, meet a lock that is being committed under. */
import pg from "pg";
import { describe, expect, it, vi } from "vitest";
import { openJobs } from "../../../src/features/jobs/jobs.js";
import { openHoldfast } from "../../../src/index.js";
import { Place } from "../../fixtures/jobs/jobs.fixture.js";
import { openCommitWire } from "../../fixtures/postgres/commit-wire.fixture.js";
import { administer, databaseOf, sharedServer } from "../../fixtures/postgres/server.fixture.js";

const WAIT = { timeoutMs: 60_000 };
const P = { project: "alpha" };
const isForeign = process.env.HOLDFAST_TEST_POSTGRES_URL !== undefined;

/** Jobs through a wire that loses COMMITs. */
async function wired(place: Place) {
  const [url, { control }] = [await place.store(), await sharedServer()];
  const wire = await openCommitWire(control?.socket ?? "");
  const store = `postgres://postgres@127.0.0.1:${wire.port}/${databaseOf(url)}`;
  const holdfast = await openHoldfast({ store, owner: "service:far", heart: "loop" });
  return {
    wire,
    jobs: openJobs(holdfast),
    async [Symbol.asyncDispose]() {
      await holdfast.close();
      await wire[Symbol.asyncDispose]();
    },
  };
}

describe.skipIf(isForeign)(
  "JOB-5: a COMMIT whose answer is lost (needs a PostgreSQL server that the tests start)",
  () => {
    // The fast server listens on a socket only; the wire leads there.
    // kills: job-lost-commit (adds the job once when the answer)
    it.each(["request", "answer"] as const)("adds the job once when the %s is lost", async (what) => {
      await using place = new Place("postgres");
      await using far = await wired(place);
      const near = await place.jobs();
      await far.jobs.list();
      far.wire.loseNext(what);
      const { id } = await far.jobs.enqueue("k", 1, P);
      expect(far.wire.lost).toBe(1);
      expect((await near.list()).map((job) => job.id)).toEqual([id]);
    });

    it.each(["request", "answer"] as const)(
      "settles once, with the caller's row, when the %s is lost",
      async (what) => {
        await using place = new Place("postgres");
        await using far = await wired(place);
        const near = await place.jobs();
        await administer(
          await place.store(),
          "drop table if exists public.ends",
          "create table public.ends (job bigint)",
        );
        let tries = 0;
        far.jobs.define("row", { attempts: 1 }, (job, { onSettle }) => {
          onSettle((sql) => {
            if (tries === 0) far.wire.loseNext(what);
            tries += 1;
            return sql.query("insert into public.ends values ($1)", [job.id]);
          });
        });
        const worker = far.jobs.work({ poll: 10, concurrency: 1 });
        const { id } = await near.enqueue("row", null, P);
        expect(await near.wait(id, WAIT)).toMatchObject({ state: "done", attempts: 1 });
        await worker.stop();
        expect(await administer(await place.store(), "select job::int from public.ends")).toEqual([{ job: id }]);
        expect(far.wire.lost).toBe(1);
      },
    );
  },
);

describe("JOB-3: a transaction left open that has added a job under a unique key", () => {
  /** Adds one by a statement of its own, and leaves it at that. */
  const leftOpen = async (place: Place, uniqueKey: string) => {
    const client = new pg.Client({ connectionString: await place.store() });
    await client.connect();
    await client.query("begin");
    const spec = JSON.stringify({ kind: "k", ...P, unique_key: uniqueKey });
    const { rows } = await client.query("select holdfast.job_enqueue($1)::int as id", [spec]);
    const end = async (how: "commit" | "rollback"): Promise<void> => {
      await client.query(how);
      await client.end();
    };
    return { id: rows[0]?.id as number, end };
  };

  // kills: job-unique-left-open
  it("holds up who adds another of that key, and nobody else", async () => {
    await using place = new Place("postgres");
    const [hands, jobs] = [await place.hands(), await place.jobs()];
    const open = await leftOpen(place, "u");
    const same = jobs.enqueue("k", null, { ...P, unique: "u" });
    const other = await hands.add(P);
    expect((await hands.turn()).map(({ job }) => job.id)).toEqual([other.id]);
    await open.end("commit");
    expect((await same).id).toBe(open.id);
  });

  it("holds up the schedule of that name, and nobody else", async () => {
    await using place = new Place("postgres");
    const hands = await place.hands();
    const schedule = await hands.add({ ...P, cron: "0 0 1 1 *", unique: "u" });
    for (const how of ["rollback", "commit"] as const) {
      const open = await leftOpen(place, "u");
      await hands.rows("UPDATE jobs SET run_at = 0 WHERE job = ?1", schedule.id);
      const other = await hands.add(P);
      const begun = await hands.turn({ room: 5 });
      expect(begun.map(({ job }) => job.id)).toEqual([other.id]);
      await open.end(how);
      const [next] = await hands.turn({ room: 5 });
      expect(next?.job).toMatchObject(how === "commit" ? { id: open.id } : { schedule: schedule.id });
      for (const run of [...begun, ...(next === undefined ? [] : [next])]) await hands.settle(run);
    }
    const changes = (await hands.entries(schedule.id)).map(({ change }) => change);
    expect(changes).toEqual(["scheduled", "left out"]);
  });
});

describe("JOB-6: a slot whose lock is being committed under", () => {
  // kills: job-lock-in-use
  it("is taken back when that is over, and holds nobody up meanwhile", async () => {
    await using place = new Place("postgres");
    const hands = await place.hands();
    await hands.add({ ...P, locks: [{ resource: "k", mode: "write" }] });
    const [run] = await hands.turn();
    if (run === undefined) throw new Error("not started");
    const other = await hands.add(P);
    const client = new pg.Client({ connectionString: await place.store() });
    await client.connect();
    await client.query("begin");
    await client.query("select holdfast.assert_fence('{k}', array[$1], max_ms => 60000)", [run.token]);
    await hands.lapse(run);
    expect((await hands.turn()).map(({ job }) => job.id)).toEqual([other.id]);
    expect(await hands.state(run.job.id)).toBe("running");
    await client.query("commit");
    await client.end();
    await hands.turn({ room: 0 });
    expect(await hands.state(run.job.id)).toBe("scheduled");
    expect(await hands.locks()).toEqual([]);
  });
});

describe("JOB-6: a worker", () => {
  it("goes on when all its connections are broken", async () => {
    await using place = new Place("postgres");
    const jobs = await place.jobs();
    jobs.define("slow", {}, async () => vi.waitUntil(() => isOver, { timeout: 60_000, interval: 10 }));
    let isOver = false;
    const { id } = await jobs.enqueue("slow", null, P);
    place.work(jobs);
    await expect.poll(async () => (await jobs.get(id)).state, { timeout: 60_000 }).toBe("running");
    await administer(
      await place.store(),
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
    );
    isOver = true;
    await expect.poll(async () => (await jobs.get(id).catch(() => null))?.state, { timeout: 60_000 }).toBe("done");
  });
});
