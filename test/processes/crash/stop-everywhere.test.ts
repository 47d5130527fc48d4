/**
 * Operations stopped at their file operations, in this process: for the disk that is a kill. All points of the four main
 * operations, a slice of the rest; the soak run takes them all, and with real kills.
 */
import { rmSync } from "node:fs";
import { afterAll, beforeAll, describe, it } from "vitest";
import { scenarioNamed, scratchFolder, sweep, sweepTwice } from "../../fixtures/crash/crash-sweep.fixture.js";
import { SCENARIOS } from "../../fixtures/crash/scenarios.fixture.mjs";

let base: string;

beforeAll(() => {
  base = scratchFolder();
});

afterAll(() => {
  rmSync(base, { recursive: true, force: true });
});

const MAIN = /^(acquire|renew|release|steal) (a top-level key|a deep key|several keys|in a new tree)$/;
const names = Object.keys(SCENARIOS);

describe("STORE-2: a crash at any instruction leaves the old or the new state", () => {
  // kills: file-step-repaired (acquire a deep key), file-several-decided (acquire several keys)
  it.each(names.filter((name) => MAIN.test(name)))("%s", async (name) => {
    await sweep(base, scenarioNamed(name));
  });
  // kills: file-step-repaired (acquire a deep key, for which others make room)
  it.each(names.filter((name) => !MAIN.test(name)))("%s, every seventeenth operation", async (name) => {
    await sweep(base, scenarioNamed(name), 17);
  });
});

describe("STORE-2: a crash while what a crash left is repaired", () => {
  it.each(["acquire a deep key", "acquire several keys", "release several keys", "steal several keys"])(
    "%s",
    async (name) => {
      await sweepTwice(base, scenarioNamed(name), 17, 13);
    },
  );
});
