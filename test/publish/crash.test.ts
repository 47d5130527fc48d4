/** A publisher that dies at any operation: a slice of what crash.soak.test.ts does in full. */
import { rmSync } from "node:fs";
import { afterAll, beforeAll, describe, it } from "vitest";
import { scratchFolder } from "../crash/sweep.js";
import { COURSES, sweep, sweepTwice } from "./sweep.js";
import { watchDatabases } from "./world.js";

let base: string;

beforeAll(() => {
  base = scratchFolder();
  watchDatabases();
});

afterAll(() => {
  rmSync(base, { recursive: true, force: true });
});

describe("PUB-3: a crash leaves the old tree or the new one, and is settled before the next grant", () => {
  it.each(COURSES)("$name", async (course) => {
    await sweep(base, course, course.kind === "sqlite" ? 3 : 13);
  });
});

describe("PUB-3: a crash while what a crash left is settled", () => {
  it.each(COURSES)("$name", async (course) => {
    await sweepTwice(base, course, course.kind === "sqlite" ? 13 : 53, 23);
  });
});
