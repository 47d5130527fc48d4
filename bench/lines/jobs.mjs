// Jobs: how many a worker gets through beside other queues, how soon one that is added begins, and whether a start costs
// more when many wait. In the crowded stores one project at its cap has nine tenths of all jobs. Caps, fairness, fences and
// audit are on; the peers have none of these. Each side commits durably.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { kernelOf } from "../../dist/client/kernel.js";
import { settleAll } from "../../dist/features/jobs/scripts/settle.js";
import { turn } from "../../dist/features/jobs/scripts/turn.js";
import { migrateStore, openHoldfast } from "../../dist/index.js";
import { openJobs } from "../../dist/jobs.js";
import { newLeaseToken } from "../../dist/lock/lease-token.js";
import { SAFE, startServer } from "../../test/fixtures/postgres/server-process.fixture.mjs";
import { AT_ONCE, fill, multiply, openGraphile, openHoldfastQueue, openPlainjob } from "../contestants/job-queues.mjs";
import { interleave } from "../interleave.mjs";
import { inScratch } from "../scratch.mjs";
import { median, ratioOf, spreadOf } from "../statistics.mjs";
import { microseconds, milliseconds, perSecond } from "../table.mjs";

export const jobs = {
  title: "jobs on SQLite, beside plainjob: no-op jobs, adding to start, and a start while many wait",
  async measure(sizes) {
    return inScratch(async (newFolder) => {
      const open = {
        ours: () => openHoldfastQueue(`sqlite:${newFolder()}/jobs.db`),
        peer: () => openPlainjob(`${newFolder()}/jobs.db`),
      };
      return [
        await through(open, "plainjob", { atLeast: 0.5 }, sizes.through),
        await soonEnough(open.ours, sizes.latency),
        ...(await whileManyWait(() => `sqlite:${newFolder()}/jobs.db`, sizes.waiting)),
      ];
    });
  },
};

export const jobsOnPostgres = {
  title: "jobs on PostgreSQL, beside graphile-worker: no-op jobs, adding to start, and a start while many wait",
  async measure(sizes) {
    const newStore = await openServer();
    const open = {
      ours: async () => openHoldfastQueue(await newStore(true)),
      peer: async () => openGraphile(await newStore(false)),
    };
    return [
      await through(open, "graphile-worker", { atLeast: 1 }, sizes.through),
      await soonAsPeer(open, sizes.latency),
      ...(await whileManyWait(() => newStore(true), sizes.waiting)),
    ];
  },
};

/** Not in the usual scratch folder, which a server that runs as another user cannot enter. It goes with this process. */
async function openServer() {
  const folder = () => mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), "holdfast-bench-jobs-"));
  const server = process.env.HOLDFAST_TEST_POSTGRES_URL ?? startServer(folder(), SAFE, process.pid).url;
  let made = 0;
  return async (isOurs) => {
    made += 1;
    const name = `bench_jobs_${process.pid}_${made}`;
    const client = new pg.Client({ connectionString: server });
    await client.connect();
    await client.query(`create database ${name}`);
    await client.end();
    const url = server.replace(/^(postgres(?:ql)?:\/\/[^/]*\/)[^?]*/, `$1${name}`);
    if (isOurs) await migrateStore(url);
    return url;
  };
}

async function through(open, peer, goal, { count, rounds, warmUps }) {
  const rates = await interleave(["ours", "peer"], { rounds, warmUps }, async (name) => {
    const queue = await open[name]();
    await queue.add(count);
    const startedAt = performance.now();
    await queue.drain(count);
    const rate = (count / (performance.now() - startedAt)) * 1_000;
    await queue.close();
    return rate;
  });
  return {
    what: `${count} no-op jobs, ${AT_ONCE} at once : ${peer}`,
    ours: perSecond(median(rates.get("ours"))),
    peer: perSecond(median(rates.get("peer"))),
    ratio: ratioOf(rates.get("ours"), rates.get("peer")),
    goal,
  };
}

async function soonEnough(open, { times }) {
  const queue = await open();
  const taken = await queue.latency(times);
  await queue.close();
  return {
    what: "from adding a job to its start, an idle worker in the same process",
    ours: milliseconds(median(taken)),
    peer: "",
    ratio: spreadOf(taken),
    unit: " ms",
    goal: { atMost: 5 },
  };
}

async function soonAsPeer(open, { times: count, rounds, warmUps }) {
  const queues = { ours: await open.ours(), peer: await open.peer() };
  const times = await interleave(["ours", "peer"], { rounds, warmUps }, async (name) =>
    median(await queues[name].latency(count)),
  );
  for (const queue of Object.values(queues)) await queue.close();
  return {
    what: "from adding a job to its start, an idle worker : graphile-worker",
    ours: milliseconds(median(times.get("ours"))),
    peer: milliseconds(median(times.get("peer"))),
    ratio: ratioOf(times.get("ours"), times.get("peer")),
    goal: { atMost: 2 },
  };
}

async function whileManyWait(newStore, { few, many, fewProjects, manyProjects, starts, rounds, warmUps }) {
  const stores = {
    base: await crowded(await newStore(), few, fewProjects),
    jobs: await crowded(await newStore(), many, fewProjects),
    projects: await crowded(await newStore(), manyProjects * 10, manyProjects),
  };
  const names = Object.keys(stores);
  const times = await interleave(names, { rounds, warmUps }, (name) => timeOfStart(stores[name], starts));
  for (const { holdfast } of Object.values(stores)) await holdfast.close();
  const row = (name, what) => ({
    what,
    ours: microseconds(median(times.get(name))),
    peer: microseconds(median(times.get("base"))),
    ratio: ratioOf(times.get(name), times.get("base")),
    goal: { atMost: 1.3 },
  });
  const shown = (value) => value.toLocaleString("en-US");
  return [
    row("jobs", `start and settle, ${shown(many)} waiting : ${shown(few)}`),
    row("projects", `start and settle, ${shown(manyProjects)} projects : ${shown(fewProjects)}`),
  ];
}

/** Nine tenths of all jobs belong to the project at its cap, the rest to all the others alike. */
async function crowded(url, count, projects) {
  const holdfast = await openHoldfast({ store: url, owner: "service:bench", heart: "loop" });
  await openJobs(holdfast).setProject("capped", { cap: 0 });
  await fill(holdfast, 1, () => "capped");
  await fill(holdfast, projects, (at) => `p${at}`);
  const copies = count / 10 / projects - 1;
  if (copies > 0) await multiply(holdfast, "project <> 'capped'", copies);
  await multiply(holdfast, "project = 'capped'", (count * 9) / 10 - 1);
  if (!url.startsWith("sqlite:")) await vacuum(url);
  return { holdfast, projects };
}

/** As a server does by itself before long. */
async function vacuum(connectionString) {
  const client = new pg.Client({ connectionString });
  await client.connect();
  await client.query("vacuum analyze");
  await client.end();
}

/** The time of one start and its end, not synced where that can be: what is compared is the search. */
async function timeOfStart({ holdfast, projects }, starts) {
  // Whatever is started must be there in every round.
  await fill(holdfast, starts, (at) => `p${at % projects}`);
  const { scripts, requester: party } = kernelOf(holdfast);
  const of = {
    worker: "w",
    node: "n",
    has: ["kind:noop"],
    concurrency: 1,
    room: 1,
    leaseMs: 60_000,
    inHand: [],
    party,
    newToken: newLeaseToken,
  };
  const ending = { kind: "done", result: null };
  const startedAt = performance.now();
  for (let at = 0; at < starts; at += 1) {
    const { runs } = await scripts.run(() => turn(of), { durable: false });
    const settlements = runs.map(({ job, fence }) => ({ job: job.id, fence, ending }));
    await scripts.run(() => settleAll(settlements, party), { durable: false });
  }
  return (performance.now() - startedAt) / starts;
}
