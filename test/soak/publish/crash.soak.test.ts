/**
 * The whole sweep: a publisher is stopped before and after every operation, of files and of the database, and so is whoever
 * comes next. HOLDFAST_SOAK=sample takes a slice.
 */
import { afterAll, describe, it } from "vitest";
import { COURSES, sweep, sweepTwice } from "../../fixtures/publish/crash-sweep.fixture.js";
import { useWatchedFolder } from "../../fixtures/publish/watched-folder.fixture.js";
import { IS_SAMPLE, sample } from "../../fixtures/sample.fixture.js";

const count = { stops: 0, pairs: 0 };

const watched = useWatchedFolder();

afterAll(() => {
  console.log("points of a publish:", count);
});

describe(`PUB-3: a crash leaves the old tree or the new one, and is settled before the next grant${sample("every 7th operation, on PostgreSQL every 13th")}`, () => {
  it.each(COURSES)("$name", async (course) => {
    count.stops += await sweep(watched.base, course, IS_SAMPLE ? (course.kind === "postgres" ? 13 : 7) : 1);
  });
});

describe(`PUB-3: a crash while what a crash left is settled${sample("every 31st operation, then every 29th")}`, () => {
  it.each(COURSES)("$name", async (course) => {
    const every = course.kind === "sqlite" ? 1 : course.kind === "postgres" ? 3 : 4;
    count.pairs += await sweepTwice(watched.base, course, IS_SAMPLE ? 31 : every, IS_SAMPLE ? 29 : every);
  });
});
