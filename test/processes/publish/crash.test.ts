/** A publisher that dies at any operation: a slice of what test/soak/publish/crash.soak.test.ts does in full. */
import { describe, it } from "vitest";
import { COURSES, sweep, sweepTwice } from "../../fixtures/publish/crash-sweep.fixture.js";
import { useWatchedFolder } from "../../fixtures/publish/watched-folder.fixture.js";

const watched = useWatchedFolder();

/** Statements to a server, and its noticing that a client is gone, take their time: fewer of those. */
const STRIDES = { sqlite: 3, file: 13, postgres: 17 } as const;
const STRIDES_OF_PAIRS = { sqlite: 13, file: 53, postgres: 37 } as const;

describe("PUB-3: a crash leaves the old tree or the new one, and is settled before the next grant", () => {
  // kills: publish-settle, publish-order-settled
  it.each(COURSES)("$name", async (course) => {
    await sweep(watched.base, course, STRIDES[course.kind]);
  });
});

describe("PUB-3: a crash while what a crash left is settled", () => {
  it.each(COURSES)("$name", async (course) => {
    await sweepTwice(watched.base, course, STRIDES_OF_PAIRS[course.kind], 23);
  });
});
