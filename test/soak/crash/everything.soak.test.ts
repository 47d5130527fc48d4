/**
 * The whole sweep. Every scenario is stopped at every file operation, and so is whoever comes next; the same with real
 * kills, before and after each operation. HOLDFAST_SOAK=sample takes a slice.
 */
import { rmSync } from "node:fs";
import { afterAll, beforeAll, describe, it } from "vitest";
import {
  at,
  expectOldOrNew,
  pointsOf,
  scenarioNamed,
  scratchFolder,
  sweep,
  sweepTwice,
  undisturbed,
} from "../../fixtures/crash/crash-sweep.fixture.js";
import { failEverywhere } from "../../fixtures/crash/io-errors.fixture.js";
import { inParallel, type KillPoint, newStoreIn, runAndKill } from "../../fixtures/crash/kill.fixture.js";
import { SCENARIOS } from "../../fixtures/crash/scenarios.fixture.mjs";
import { expectSuccessor, observe } from "../../fixtures/crash/store-state.fixture.js";
import { IS_SAMPLE, sample } from "../../fixtures/sample.fixture.js";

const names = Object.keys(SCENARIOS);

let base: string;
const count = { stops: 0, pairs: 0, failures: 0, kills: 0, killPairs: 0 };

beforeAll(() => {
  base = scratchFolder();
});

afterAll(() => {
  rmSync(base, { recursive: true, force: true });
  console.log("points:", count);
});

describe(`STORE-2: a crash at any instruction leaves the old or the new state${sample("every 2nd operation")}`, () => {
  it.each(names)("%s", async (name) => {
    count.stops += await sweep(base, scenarioNamed(name), IS_SAMPLE ? 2 : 1);
  });
});

describe(`STORE-2: a crash while what a crash left is repaired${sample("every 7th operation, then every 5th")}`, () => {
  it.each(names)("%s", async (name) => {
    count.pairs += await sweepTwice(base, scenarioNamed(name), IS_SAMPLE ? 7 : 1, IS_SAMPLE ? 5 : 1);
  });
});

describe(`STORE-2: an error of the disk is told, changes nothing halfway, and passes${sample("every 3rd operation, one error each")}`, () => {
  it.each(names)("%s", async (name) => {
    count.failures += await failEverywhere(base, scenarioNamed(name), {
      every: IS_SAMPLE ? 3 : 1,
      allErrnos: !IS_SAMPLE,
    });
  });
});

describe(`STORE-2: a killed process leaves the old or the new state${sample("every 9th operation")}`, () => {
  it.each(names)("%s", async (name) => {
    const scenario = scenarioNamed(name);
    const course = await undisturbed(base, scenario);
    const points = pointsOf(course, IS_SAMPLE ? 9 : 1).flatMap(({ at, what }): KillPoint[] =>
      what === "torn"
        ? [{ at, when: "before", what: "torn-kill" }]
        : [
            { at, when: "before", what: "kill" },
            { at, when: "after", what: "kill" },
          ],
    );
    await inParallel(points, 2, async (point) => {
      await at(`${point.what} ${point.when} ${point.at}, ${course.seen[point.at - 1]}`, async () => {
        const dir = newStoreIn(base);
        const { told } = await runAndKill(name, dir, point);
        await expectOldOrNew({ dir, reader: undefined, told }, course, scenario.keys);
        await expectSuccessor(dir, scenario.keys, told ?? []);
        rmSync(dir, { recursive: true, force: true });
        count.kills += 1;
      });
    });
  });

  it.each(["acquire a deep key", "acquire several keys", "release several keys", "steal several keys"])(
    "%s, and whoever comes next is killed too",
    async (name) => {
      const scenario = scenarioNamed(name);
      const course = await undisturbed(base, scenario);
      const next = `next:${scenario.keys.join(",")}`;
      for (const first of pointsOf(course, IS_SAMPLE ? 12 : 3))
        for (let second = 1; second <= 40; second += IS_SAMPLE ? 13 : 3) {
          const dir = newStoreIn(base);
          await at(`${first.where}, then ${second}`, async () => {
            const one = await runAndKill(name, dir, { at: first.at, when: "before", what: "kill" });
            await observe(dir);
            const two = await runAndKill(next, dir, { at: second, when: "before", what: "kill" });
            await expectSuccessor(dir, scenario.keys, [...(one.told ?? []), ...(two.told ?? [])]);
          });
          rmSync(dir, { recursive: true, force: true });
          count.killPairs += 1;
        }
    },
  );
});
