/** Every operation of a publish fails with every errno. HOLDFAST_SOAK=sample takes a slice. */
import { afterAll, describe, it } from "vitest";
import { failEverywhere } from "./failing.js";
import { COURSES } from "./sweep.js";
import { useWatchedFolder } from "./watched-folder.js";

const IS_SAMPLE = process.env.HOLDFAST_SOAK === "sample";
let count = 0;

const watched = useWatchedFolder();

afterAll(() => {
  console.log("failures of a publish:", count);
});

describe("PUB-3: an error of the disk is told with its code, nothing is half visible, and trying again works", () => {
  it.each(COURSES)("$name", async (course) => {
    count += await failEverywhere(watched.base, course, {
      every: IS_SAMPLE ? (course.kind === "postgres" ? 31 : 11) : 1,
      allErrnos: !IS_SAMPLE,
    });
  });
});
