/** Disks fill up and fail: the file operations of the four main operations, and a slice of the rest. */
import { rmSync } from "node:fs";
import { afterAll, beforeAll, describe, it } from "vitest";
import { scenarioNamed, scratchFolder } from "../../fixtures/crash/crash-sweep.fixture.js";
import { failEverywhere } from "../../fixtures/crash/io-errors.fixture.js";
import { SCENARIOS } from "../../fixtures/crash/scenarios.fixture.mjs";

let base: string;

beforeAll(() => {
  base = scratchFolder();
});

afterAll(() => {
  rmSync(base, { recursive: true, force: true });
});

const MAIN = /^(acquire|renew|release|steal) (a top-level key|a deep key)$/;
const names = Object.keys(SCENARIOS);

describe("STORE-2: an error of the disk is told, changes nothing halfway, and passes", () => {
  it.each(names.filter((name) => MAIN.test(name)))("%s", async (name) => {
    await failEverywhere(base, scenarioNamed(name), { every: 1, allErrnos: false });
  });
  it.each(names.filter((name) => !MAIN.test(name)))("%s, every seventeenth operation", async (name) => {
    await failEverywhere(base, scenarioNamed(name), { every: 17, allErrnos: false });
  });
});
