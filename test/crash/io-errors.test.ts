/** Disks fill up and fail: a slice of the file operations of every scenario, with one errno after the other. */
import { rmSync } from "node:fs";
import { afterAll, beforeAll, describe, it } from "vitest";
import { SCENARIOS } from "../fixtures/fault-scenarios.mjs";
import { failEverywhere } from "./failing.js";
import { scenarioNamed, scratchFolder } from "./sweep.js";

let base: string;

beforeAll(() => {
  base = scratchFolder();
});

afterAll(() => {
  rmSync(base, { recursive: true, force: true });
});

describe("STORE-2: an error of the disk is told, changes nothing halfway, and passes", () => {
  it.each(Object.keys(SCENARIOS))("%s", async (name) => {
    await failEverywhere(base, scenarioNamed(name), 5);
  });
});
