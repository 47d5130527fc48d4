/** Every operation of a publish fails with every errno. HOLDFAST_SOAK=sample takes a slice. */
import { rmSync } from "node:fs";
import { afterAll, beforeAll, describe, it } from "vitest";
import { scratchFolder } from "../crash/sweep.js";
import { failEverywhere } from "./failing.js";
import { watchServer } from "./server-points.js";
import { COURSES } from "./sweep.js";
import { watchDatabases } from "./world.js";

const IS_SAMPLE = process.env.HOLDFAST_SOAK === "sample";
let base: string;
let count = 0;

beforeAll(() => {
  base = scratchFolder();
  watchDatabases();
  watchServer();
});

afterAll(() => {
  rmSync(base, { recursive: true, force: true });
  console.log("failures of a publish:", count);
});

describe("PUB-3: an error of the disk is told with its code, nothing is half visible, and trying again works", () => {
  it.each(COURSES)("$name", async (course) => {
    count += await failEverywhere(base, course, {
      every: IS_SAMPLE ? (course.kind === "postgres" ? 31 : 11) : 1,
      allErrnos: !IS_SAMPLE,
    });
  });
});
