// Job queues behind one face, for no-op jobs: `add(count)` puts them in, `drain(count)` runs them ten at a time and
// resolves when all are settled, `latency(times)` gives the times from adding one to its start, `close()`.
import { EventEmitter } from "node:events";
import { createRequire } from "node:module";
import { makeWorkerUtils, run } from "graphile-worker";
import { defineQueue, defineWorker } from "plainjob";
import { kernelOf } from "../../dist/client/kernel.js";
import { enqueue } from "../../dist/features/jobs/scripts/enqueue.js";
import { rows } from "../../dist/features/jobs/scripts/query.js";
import { openHoldfast } from "../../dist/index.js";
import { openJobs } from "../../dist/jobs.js";

export const AT_ONCE = 10;
const A_BATCH = 500;
const A_PORTION = 50_000;
const SILENT = { error() {}, warn() {}, info() {}, debug() {} };

export async function openHoldfastQueue(store) {
  const holdfast = await openHoldfast({ store, owner: "service:bench", heart: "loop" });
  const jobs = openJobs(holdfast);
  await jobs.setCaps({ maxGlobalJobs: 50, maxJobsPerProject: 20 });
  return {
    holdfast,
    add: (count) => fill(holdfast, count, (at) => `p${at % 10}`),
    async drain(count) {
      let [done, resolve] = [0, () => undefined];
      const over = new Promise((each) => {
        resolve = each;
      });
      jobs.define("noop", {}, () => {
        done += 1;
        if (done === count) resolve();
      });
      const worker = jobs.work({ concurrency: AT_ONCE });
      await over;
      await worker.stop();
    },
    async latency(times) {
      const started = new Map();
      jobs.define("noop", {}, (job) => started.get(job.payload)?.(performance.now()));
      const worker = jobs.work({ concurrency: AT_ONCE });
      const taken = await oneByOne(times, started, (at) => jobs.enqueue("noop", at, { project: "p" }));
      await worker.stop();
      return taken;
    },
    close: () => holdfast.close(),
  };
}

export async function openGraphile(connectionString) {
  const logger = new (await import("graphile-worker")).Logger(() => () => undefined);
  const utils = await makeWorkerUtils({ connectionString, logger });
  await utils.migrate();
  const options = { connectionString, logger, concurrency: AT_ONCE, noHandleSignals: true, pollInterval: 2_000 };
  return {
    add: (count) =>
      utils.withPgClient((client) =>
        client.query("select graphile_worker.add_job('noop', '{}') from generate_series(1, $1)", [count]),
      ),
    async drain(count) {
      let done = 0;
      const settled = deferred();
      // Heard from the start: its first jobs are over before `run` has answered.
      const events = new EventEmitter().on("job:complete", () => {
        done += 1;
        if (done === count) settled.resolve();
      });
      const runner = await run({ ...options, events, taskList: { noop: () => undefined } });
      await settled.promise;
      await runner.stop();
    },
    async latency(times) {
      const started = new Map();
      const taskList = { noop: ({ at }) => started.get(at)?.(performance.now()) };
      const runner = await run({ ...options, taskList });
      const taken = await oneByOne(times, started, (at) => utils.addJob("noop", { at }));
      await runner.stop();
      return taken;
    },
    close: () => utils.release(),
  };
}

/** On the same driver as ours, with every commit synced, which is not its default: better-sqlite3 is what it is made for. */
export function openPlainjob(filename) {
  const { DatabaseSync } = createRequire(import.meta.url)("@photostructure/sqlite");
  const database = new DatabaseSync(filename);
  const queue = defineQueue({ connection: asConnection(database, filename), logger: SILENT });
  database.exec("PRAGMA synchronous = FULL");
  return {
    async add(count) {
      for (let at = 0; at < count; at += A_BATCH)
        queue.addMany(
          "noop",
          Array.from({ length: Math.min(A_BATCH, count - at) }, () => ({})),
        );
    },
    async drain(count) {
      let done = 0;
      const settled = deferred();
      const onCompleted = () => {
        done += 1;
        if (done === count) settled.resolve();
      };
      const workers = Array.from({ length: AT_ONCE }, () =>
        defineWorker("noop", async () => undefined, { queue, onCompleted, logger: SILENT, pollInterval: 10 }),
      );
      const running = workers.map((worker) => worker.start());
      await settled.promise;
      await Promise.all(workers.map((worker) => worker.stop()));
      await Promise.all(running);
    },
    close: () => queue.close(),
  };
}

function asConnection(database, filename) {
  const inTransaction = (begin, body) =>
    function transaction(...values) {
      database.exec(begin);
      try {
        const result = body.apply(this, values);
        database.exec("COMMIT");
        return result;
      } catch (error) {
        database.exec("ROLLBACK");
        throw error;
      }
    };
  return {
    driver: "better-sqlite3",
    filename,
    pragma: (text) => database.exec(`PRAGMA ${text}`),
    exec: (text) => database.exec(text),
    prepare: (text) => database.prepare(text),
    transaction: (body) =>
      Object.assign(inTransaction("BEGIN", body), {
        deferred: inTransaction("BEGIN", body),
        immediate: inTransaction("BEGIN IMMEDIATE", body),
        exclusive: inTransaction("BEGIN EXCLUSIVE", body),
      }),
    close: () => database.close(),
  };
}

async function oneByOne(times, started, add) {
  const taken = [];
  for (let at = 0; at < times; at += 1) {
    const start = new Promise((resolve) => started.set(at, resolve));
    const addedAt = performance.now();
    await add(at);
    taken.push((await start) - addedAt);
    // An idle worker is what is measured.
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return taken;
}

function deferred() {
  let resolve;
  const promise = new Promise((each) => {
    resolve = each;
  });
  return { promise, resolve };
}

export async function fill(holdfast, count, projectOf) {
  const { scripts, requester: party } = kernelOf(holdfast);
  for (let from = 0; from < count; from += A_BATCH)
    await scripts.run(
      function* () {
        for (let at = from; at < Math.min(count, from + A_BATCH); at += 1)
          yield* enqueue({ ...NOOP, project: projectOf(at) }, party);
      },
      { durable: false },
    );
}

const COLUMNS = `kind, project, class, needs, flow, is_map, priority, payload, locks, max_attempts, attempts, lock_wait_ms, state,
  run_at, cancelling, created_at, own_locks, own_attempts`;

/** So many more of each job that is there and meets the condition. Nothing changes for their flows: they have jobs already. */
export async function multiply(holdfast, condition, copies) {
  const { scripts } = kernelOf(holdfast);
  const sql = `WITH RECURSIVE more(at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM more WHERE at < ?1)
    INSERT INTO jobs (${COLUMNS}) SELECT ${COLUMNS} FROM more CROSS JOIN jobs WHERE job <= ?2 AND ${condition}`;
  const ask = (text, ...values) => scripts.run(() => rows(text, ...values), { durable: false });
  const [{ last }] = await ask("SELECT max(job) AS last FROM jobs");
  for (let made = 0; made < copies; made += A_PORTION) await ask(sql, Math.min(A_PORTION, copies - made), Number(last));
}

const NOOP = {
  kind: "noop",
  map: null,
  class: "io",
  own_class: null,
  needs: ["kind:noop"],
  priority: 0,
  payload: null,
  locks: [],
  command: null,
  unique_key: null,
  max_attempts: 3,
  timeout_ms: null,
  lock_wait_ms: 60_000,
  run_at_ms: null,
  delay_ms: 0,
  cron: null,
  time_zone: null,
};
