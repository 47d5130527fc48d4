// Jobs on SQLite: how many a worker gets through, and whether a start costs more when many wait. In the crowded store one
// project at its cap has nine tenths of all jobs.
import { openHoldfast } from "../../dist/index.js";
import { openJobs } from "../../dist/jobs/index.js";
import { enqueue } from "../../dist/jobs/steps/enqueue.js";
import { settle } from "../../dist/jobs/steps/settle.js";
import { turn } from "../../dist/jobs/steps/turn.js";
import { newLeaseToken } from "../../dist/support/lease-token.js";
import { interleave } from "../interleave.mjs";
import { inScratch } from "../scratch.mjs";
import { median, ratioOf } from "../statistics.mjs";
import { microseconds, perSecond } from "../table.mjs";

const FEW = 1_000;
const MANY = 100_000;
const MANY_QUICK = 10_000;
const STARTS = 100;
const A_BATCH = 500;

export const jobs = {
  title: "jobs on SQLite: no-op jobs through one worker, and a start and its end while many wait",
  async measure({ quick }) {
    return inScratch(async (newFolder) => [await through(newFolder, quick), await whileManyWait(newFolder, quick)]);
  },
};

async function through(newFolder, quick) {
  const count = quick ? 500 : 2_000;
  const rates = await interleave(["ours"], { rounds: quick ? 3 : 7, warmUps: 1 }, async () => {
    const holdfast = await open(newFolder());
    const queue = openJobs(holdfast);
    await queue.setCaps({ maxGlobalJobs: 50, maxJobsPerProject: 20 });
    await fill(holdfast, count, (at) => `p${at % 10}`);
    const startedAt = performance.now();
    let done = 0;
    const over = new Promise((resolve) => {
      queue.define("noop", {}, () => {
        done += 1;
        if (done === count) resolve();
      });
    });
    const worker = queue.work({ concurrency: 10 });
    await over;
    await worker.stop();
    const rate = (count / (performance.now() - startedAt)) * 1_000;
    await holdfast.close();
    return rate;
  });
  const ours = perSecond(median(rates.get("ours")));
  return { what: `${count} no-op jobs, ten at once, settled durably`, ours, peer: "", ratio: null, goal: null };
}

async function whileManyWait(newFolder, quick) {
  const many = quick ? MANY_QUICK : MANY;
  const stores = { few: await crowded(newFolder(), FEW), many: await crowded(newFolder(), many) };
  const times = await interleave(["few", "many"], { rounds: quick ? 5 : 15, warmUps: 1 }, (name) =>
    starts(stores[name]),
  );
  for (const holdfast of Object.values(stores)) await holdfast.close();
  return {
    what: `start and settle with ${many.toLocaleString("en-US")} waiting : with ${FEW.toLocaleString("en-US")}`,
    ours: microseconds(median(times.get("many"))),
    peer: microseconds(median(times.get("few"))),
    ratio: ratioOf(times.get("many"), times.get("few")),
    goal: { atMost: 1.3 },
  };
}

async function crowded(folder, count) {
  const holdfast = await open(folder);
  await openJobs(holdfast).setProject("capped", { cap: 0 });
  // Whatever is started must be there for every round.
  await fill(holdfast, count, (at) => (at % 10 > 0 ? "capped" : `p${at % 7}`));
  await fill(holdfast, STARTS * 20, (at) => `p${at % 7}`);
  return holdfast;
}

/** The time of one start and its end, not synced: what is compared is the search. */
async function starts({ home: { store, party } }) {
  const of = { worker: "w", node: "n", has: ["kind:noop"], concurrency: 1, room: 1, leaseMs: 60_000, party };
  const startedAt = performance.now();
  for (let at = 0; at < STARTS; at += 1) {
    const { runs } = await store.scripts.run(() => turn({ ...of, newToken: newLeaseToken }), { durable: false });
    for (const { job, fence } of runs)
      await store.scripts.run(() => settle({ job: job.id, fence, ending: { kind: "done", result: null } }, party), {
        durable: false,
      });
  }
  return (performance.now() - startedAt) / STARTS;
}

function open(folder) {
  return openHoldfast({ store: `sqlite:${folder}/jobs.db`, owner: "service:bench", heart: "loop" });
}

async function fill({ home: { store, party } }, count, projectOf) {
  for (let from = 0; from < count; from += A_BATCH)
    await store.scripts.run(
      function* () {
        for (let at = from; at < Math.min(count, from + A_BATCH); at += 1)
          yield* enqueue({ ...NOOP, project: projectOf(at) }, party);
      },
      { durable: false },
    );
}

const NOOP = {
  kind: "noop",
  map: null,
  class: "io",
  needs: ["kind:noop"],
  priority: 0,
  payload: null,
  locks: [],
  command: null,
  uniqueKey: null,
  maxAttempts: 3,
  timeoutMs: null,
  lockWaitMs: 60_000,
  runAtMs: null,
};
