/** Real kills: SIGKILL before a sample of the file operations of the main four, and after the last. The soak run takes all. */
import { rmSync } from "node:fs";
import { afterAll, beforeAll, describe, it } from "vitest";
import {
  at,
  expectOldOrNew,
  pointsOf,
  scenarioNamed,
  scratchFolder,
  undisturbed,
} from "../../fixtures/crash/crash-sweep.fixture.js";
import { inParallel, newStoreIn, runAndKill } from "../../fixtures/crash/kill.fixture.js";
import { expectSuccessor } from "../../fixtures/crash/store-state.fixture.js";

let base: string;

beforeAll(() => {
  base = scratchFolder();
});

afterAll(() => {
  rmSync(base, { recursive: true, force: true });
});

describe("STORE-2: a killed process leaves the old or the new state", () => {
  it.each([
    ["acquire a deep key", 2],
    ["acquire several keys", 5],
    ["renew a deep key", 2],
    ["release a deep key", 2],
    ["steal several keys", 5],
  ] as const)("%s", async (name, every) => {
    const scenario = scenarioNamed(name);
    const course = await undisturbed(base, scenario);
    const deaths = pointsOf(course, every).map(({ where, at: point, what }) => ({
      where,
      point: { at: point, when: "before", what: what === "torn" ? "torn-kill" : "kill" } as const,
    }));
    const last = { at: course.seen.length, when: "after", what: "kill" } as const;
    await inParallel([...deaths, { where: "after all of it", point: last }], 2, async ({ where, point }) => {
      await at(where, async () => {
        const dir = newStoreIn(base);
        const { told } = await runAndKill(name, dir, point);
        await expectOldOrNew({ dir, reader: undefined, told }, course, scenario.keys);
        await expectSuccessor(dir, scenario.keys, told ?? []);
        rmSync(dir, { recursive: true, force: true });
      });
    });
  });
});
