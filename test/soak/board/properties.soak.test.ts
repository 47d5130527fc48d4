import fc from "fast-check";
import { it } from "vitest";
import { histories, keepsItsProperties } from "../../fixtures/board/properties.fixture.js";
import { IS_SAMPLE, sample } from "../../fixtures/sample.fixture.js";

/** The sample has the same histories every time. */
const RUNS = IS_SAMPLE ? { numRuns: 10, seed: 10 } : { numRuns: 300 };

it(`BOARD-2 any sequence at once, ${RUNS.numRuns} times${sample("10 of 300 histories")}`, async () => {
  await fc.assert(fc.asyncProperty(histories, keepsItsProperties), RUNS);
});
