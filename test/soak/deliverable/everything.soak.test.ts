/** The whole sweep over deliverable folders, and the long race. HOLDFAST_SOAK=sample takes a slice of each. */
import { describe, it } from "vitest";
import { inParallel } from "../../fixtures/crash/kill.fixture.js";
import { failEverywhere, killAt, operationsOf, sweep } from "../../fixtures/deliverable/crash-sweep.fixture.js";
import { raceToLock, raceToRecover } from "../../fixtures/deliverable/races.fixture.js";
import { SCENARIOS } from "../../fixtures/deliverable/scenarios.fixture.mjs";
import { IS_SAMPLE, sample } from "../../fixtures/sample.fixture.js";

const names = Object.keys(SCENARIOS);

describe(`DELIV-5: the long race${sample("25 of 1,000 rounds, 5 of 300 recoveries")}`, () => {
  it("ten processes, a thousand rounds: one wins each", () => raceToLock(IS_SAMPLE ? 25 : 1_000));
  it("two recover at once: one wins", () => raceToRecover("recover", 2, IS_SAMPLE ? 5 : 300));
  it("ten take over at once: one wins", () => raceToRecover("lock", 10, IS_SAMPLE ? 5 : 300));
});

describe(`DELIV-1: a crash while what a crash left is settled${sample("every 7th operation")}`, () => {
  it.each(names)("%s", async (name) => {
    await sweep(name, IS_SAMPLE ? { every: 7, second: 9 } : { second: 1 });
  });
});

describe(`DELIV-1: an error of the disk is told, and the folder goes on${sample("1 of 3 errors")}`, () => {
  it.each(names)("%s", async (name) => {
    for (const errno of IS_SAMPLE ? (["EIO"] as const) : (["ENOSPC", "EIO", "EACCES"] as const))
      await failEverywhere(name, errno);
  });
});

describe(`DELIV-1: killed before and after every file operation${sample("every 9th operation")}`, () => {
  it.each(names)("%s", async (name) => {
    const operations = await operationsOf(name);
    const points = operations.flatMap((operation, index) => {
      if (IS_SAMPLE && index % 9 !== 0) return [];
      const at = index + 1;
      const kills = (["before", "after"] as const).map((when) => ({ at, when, what: "kill" as const }));
      return operation.startsWith("writeSync")
        ? [...kills, { at, when: "before" as const, what: "torn-kill" as const }]
        : kills;
    });
    await inParallel(points, 2, ({ at, when, what }) => killAt(name, at, when, what));
  });
});
