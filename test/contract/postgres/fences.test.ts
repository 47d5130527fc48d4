/** The numbers that a server mints, by its own function, over histories that the tests make up. */
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fc } from "../../fixtures/fast-check.fixture.js";
import { client } from "../../fixtures/postgres/clients.fixture.js";
import { administer, sharedServer, type TestServer } from "../../fixtures/postgres/server.fixture.js";
import { newPostgresStore } from "../../fixtures/postgres/stores.fixture.js";

const SKEW_MS = 10_000;
const START_MS = Date.UTC(2026, 0, 1);

let server: TestServer;
let session: pg.Client;
beforeAll(async () => {
  server = await sharedServer();
  session = new pg.Client({ connectionString: await newPostgresStore(server) });
  await session.connect();
}, 240_000);
afterAll(() => session.end());

/** A tree as its row has it. */
interface Counter {
  readonly fence: number;
  readonly epoch: string;
}

async function mint({ fence, epoch }: Counter, next: string, nowMs: number): Promise<Counter> {
  const { rows } = await session.query("select holdfast.next_fence($1, $2, $3, $4)::float8 as fence", [
    fence,
    epoch,
    next,
    nowMs,
  ]);
  return { fence: rows[0].fence, epoch: next };
}

/** A step of a history: time goes by, perhaps the server starts anew or its clock is set, and a number is given out. */
interface Step {
  readonly waitMs: number;
  readonly starts: boolean;
  readonly setByMs: number;
}

const steps = (setByMs: fc.Arbitrary<number>): fc.Arbitrary<Step[]> =>
  fc.array(fc.record({ waitMs: fc.nat(4_000), starts: fc.boolean(), setByMs }), { minLength: 1, maxLength: 25 });

interface History {
  /** The counter before each step and after the last. */
  readonly counters: readonly Counter[];
  readonly nowMs: number;
  /** When the last epoch began. */
  readonly startedMs: number;
}

/** By a clock that is `aheadMs` ahead of the time told. */
async function play(history: readonly Step[], aheadMs = 0): Promise<History> {
  let counter: Counter = { fence: 0, epoch: "" };
  let nowMs = START_MS;
  let startedMs = nowMs;
  let epoch = 1;
  const counters = [counter];
  for (const { waitMs, starts, setByMs } of history) {
    nowMs += waitMs + setByMs;
    if (starts) epoch += 1;
    if (starts || counters.length === 1) startedMs = nowMs;
    counter = await mint(counter, String(epoch), nowMs + aheadMs);
    counters.push(counter);
  }
  return { counters, nowMs, startedMs };
}

const seconds = fc.integer({ min: -7_200_000, max: 7_200_000 });

describe("numbers that a server mints", () => {
  it("grow in every tree, however the clock is set and the server started", async () => {
    await fc.assert(
      fc.asyncProperty(steps(fc.oneof(fc.constant(0), seconds)), async (history) => {
        const { counters } = await play(history);
        const fences = counters.map(({ fence }) => fence);
        expect(fences.every((fence, at) => at === 0 || fence > (fences[at - 1] ?? 0))).toBe(true);
        expect(fences.every(Number.isSafeInteger)).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  // kills: postgres-fence-skew
  it("grow higher in a restored copy than in the history that was lost, whose clock was ahead by less than the skew", async () => {
    const cases = fc.tuple(steps(fc.constant(0)), fc.nat(24), fc.oneof(fc.constant(0), fc.nat(SKEW_MS - 10)));
    await fc.assert(
      fc.asyncProperty(cases, async ([history, at, aheadMs]) => {
        const { counters, nowMs, startedMs } = await play(history, aheadMs);
        const copy = counters[at % counters.length] ?? { fence: 0, epoch: "" };
        // A server that began a moment ago is ahead of its clock by the skew itself.
        const restoredMs = Math.max(nowMs + 1, startedMs + (aheadMs === 0 ? 1 : aheadMs + 2));
        const next = await mint(copy, "restored", restoredMs);
        expect(next.fence).toBeGreaterThan(counters.at(-1)?.fence ?? 0);
      }),
      { numRuns: 100 },
    );
  });

  // kills: postgres-fence-time
  it("are not below the time in microseconds, so a copy in the same epoch gives out none of those before it", async () => {
    const first = await mint({ fence: 0, epoch: "" }, "1", START_MS);
    const later = await mint(first, "1", START_MS + 60_000);
    expect(later.fence).toBe((START_MS + 60_000) * 1000);
    expect((await mint(later, "1", START_MS + 60_000)).fence).toBe(later.fence + 1);
  });

  it("jump by the skew that the owner of the schema has set, and nobody waits for it", async () => {
    const url = await newPostgresStore(server);
    await administer(url, "update holdfast.store set fence_skew_ms = 3600000");
    const holdfast = await client(url);
    const before = Date.now();
    const { fencingToken } = await holdfast.acquire("k");
    expect(fencingToken).toBeGreaterThan((before + 3_600_000) * 1000);
    expect(Date.now() - before).toBeLessThan(60_000);
  });
});
