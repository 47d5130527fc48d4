/** Every operation of a publish fails with every errno. HOLDFAST_SOAK=sample takes a slice. */
import { afterAll, describe, it } from "vitest";
import { COURSES } from "../../fixtures/publish/crash-sweep.fixture.js";
import { failEverywhere } from "../../fixtures/publish/io-errors.fixture.js";
import { useWatchedFolder } from "../../fixtures/publish/watched-folder.fixture.js";
import { IS_SAMPLE, sample } from "../../fixtures/sample.fixture.js";

let count = 0;

const watched = useWatchedFolder();

afterAll(() => {
  console.log("failures of a publish:", count);
});

describe(`PUB-3: an error of the disk is told with its code, nothing is half visible, and trying again works${sample("every 11th operation, on PostgreSQL every 31st, one error each")}`, () => {
  it.each(COURSES)("$name", async (course) => {
    count += await failEverywhere(watched.base, course, {
      every: IS_SAMPLE ? (course.kind === "postgres" ? 31 : 11) : 1,
      allErrnos: !IS_SAMPLE,
    });
  });
});
