/** How often a step whose caller says beforehand that it is durable is run. The clock is read once in each run of a step. */
import { describe, expect, it } from "vitest";
import type { Key } from "../../../../src/lock/key.js";
import type { Clock } from "../../../../src/platform/clock.js";
import { acquire, newPlace, open, pairs, stillClock } from "../../../fixtures/sqlite/database.fixture.js";
import { PARTY } from "../../../fixtures/store/acquire-request.fixture.js";

const KEY = "shop" as Key;

async function openCounted() {
  const clock = stillClock();
  let readings = 0;
  const counted: Clock = () => {
    readings += 1;
    return clock();
  };
  const store = await open(newPlace(), counted);
  await pairs(store, KEY, 1); // So that its fencing tokens are reserved.
  return {
    store,
    async stepsOf(work: () => Promise<unknown>): Promise<number> {
      const before = readings;
      await work();
      return readings - before;
    },
  };
}

describe("a durable step on SQLite", () => {
  // kills: detached-once
  it("a detached request is decided once", async () => {
    const { store, stepsOf } = await openCounted();
    expect(await stepsOf(() => acquire(store, KEY, { detached: true }))).toBe(1);
  });

  // kills: told-commit-once
  it("a commit with an audit entry calls the caller's function once", async () => {
    const { store, stepsOf } = await openCounted();
    const grants = await acquire(store, KEY);
    let calls = 0;
    const write = () => {
      calls += 1;
    };
    const entry = { event: "snapshot", party: PARTY, details: {} } as const;
    expect(await stepsOf(() => store.fence.commit(grants, write, entry))).toBe(1);
    expect(calls).toBe(1);
    const told = await store.reader.audit({ tree: KEY, afterSeq: 0, limit: 10 });
    expect(told.map(({ event }) => event)).toContain("snapshot");
  });
});
