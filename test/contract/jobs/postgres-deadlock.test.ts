/** A step of the scheduler and a request for two trees, each with the guard the other one wants. */
import { describe, expect, it } from "vitest";
import { isHoldfastError } from "../../../src/base/errors.js";
import { kernelOf, type Script } from "../../../src/client/kernel.js";
import { turn } from "../../../src/features/jobs/scripts/turn.js";
import { type Holdfast, openHoldfast } from "../../../src/index.js";
import { newLeaseToken } from "../../../src/lock/lease-token.js";
import { Place } from "../../fixtures/jobs/jobs.fixture.js";
import { administer } from "../../fixtures/postgres/server.fixture.js";
import { comesOff } from "../../fixtures/succeeds-once.fixture.js";

const isForeign = process.env.HOLDFAST_TEST_POSTGRES_URL !== undefined;
const P = { project: "alpha" };

/** Whether a request for locks waits for a guard in this database. */
async function isBlocked(url: string): Promise<boolean> {
  const sql = `select 1 from pg_stat_activity where datname = current_database() and application_name = 'two_trees'
    and wait_event_type = 'Lock'`;
  return (await administer(url, sql)).length > 0;
}

async function deadlocksIn(url: string): Promise<number> {
  const [row] = await administer<{ deadlocks: number }>(
    url,
    "select pg_stat_clear_snapshot()",
    "select deadlocks::int as deadlocks from pg_stat_database where datname = current_database()",
  );
  return row?.deadlocks ?? 0;
}

describe.skipIf(isForeign)(
  "JOB-4: a step of the scheduler that meets a request for two trees (needs a PostgreSQL server that the tests start)",
  () => {
    /** Starts one job under `b`, waits until the request has `a` and waits for `b`, then starts one under `a`. */
    const startBoth = (holdfast: Holdfast, meet: () => Promise<void>): (() => Script<number>) => {
      const { requester: party } = kernelOf(holdfast);
      const of = {
        worker: "w",
        node: "n",
        has: ["kind:k"],
        concurrency: 9,
        room: 1,
        leaseMs: 60_000,
        inHand: [],
        party,
      };
      return function* () {
        const first = yield* turn({ ...of, newToken: newLeaseToken });
        yield { ask: "caller", body: meet };
        const second = yield* turn({ ...of, newToken: newLeaseToken });
        return first.runs.length + second.runs.length;
      };
    };

    // kills: job-deadlock
    it("is ended by the server, begun anew, and starts nothing twice", async () => {
      await comesOff(async () => {
        await using place = new Place("postgres");
        const url = await place.store();
        const hands = await place.hands();
        const [scheduler, agent] = [
          await place.holdfast(),
          // Looks for a deadlock only after a minute: it is the step that the server ends.
          await openHoldfast({
            store: `${url}&application_name=two_trees&options=-c%20deadlock_timeout%3D60s`,
            owner: "agent:a",
            heart: "loop",
          }),
        ];
        const before = await deadlocksIn(url);
        const under = (resource: string) => ({ ...P, locks: [{ resource, mode: "write" }] as const });
        const jobs = [await hands.add(under("b")), await hands.add(under("a"))];
        let request: Promise<{ release(): Promise<void> }> | undefined;
        const stop = new AbortController();
        const meet = async (): Promise<void> => {
          request = agent.acquire(["a", "b"], { wait: "4m", signal: stop.signal });
          // No longer than a step may take; when it was too short they do not meet.
          for (const until = performance.now() + 3_000; performance.now() < until && !(await isBlocked(url)); );
        };
        let tries = 0;
        const step = startBoth(scheduler, () => {
          tries += 1;
          return tries === 1 ? meet() : Promise.resolve();
        });
        // A busy machine may be too slow for it to be begun anew at once; a worker would try again too.
        let calls = 0;
        const run = (): Promise<unknown> => {
          calls += 1;
          return hands.run(step).catch((error: unknown) => (isHoldfastError(error) ? run() : Promise.reject(error)));
        };
        await run();
        if (tries === 1) {
          stop.abort();
          await request?.catch(() => undefined);
          await agent.close();
          return false;
        }
        await (await request)?.release();
        await expect
          .poll(
            async () => {
              await hands.later();
              await hands.turn({ room: 9 });
              return Promise.all(jobs.map(({ id }) => hands.state(id)));
            },
            { timeout: 240_000 },
          )
          .toEqual(["running", "running"]);
        for (const { id } of jobs) {
          const changes = (await hands.entries(id)).map(({ change }) => change);
          expect(changes.filter((change) => change === "started")).toHaveLength(1);
        }
        expect(await hands.rows("SELECT running FROM job_gates WHERE name = 'global'")).toEqual([{ running: 2 }]);
        expect(await hands.locks()).toEqual(await hands.locksOfSlots());
        await agent.close();
        return tries > 1 && calls === 1 && (await deadlocksIn(url)) > before;
      });
    });
  },
);
