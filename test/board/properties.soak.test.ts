import fc from "fast-check";
import { it } from "vitest";
import { histories, keepsItsProperties } from "./properties.js";

/** The sample has the same histories every time. */
const RUNS = process.env.HOLDFAST_SOAK === "sample" ? { numRuns: 10, seed: 10 } : { numRuns: 300 };

it(`BOARD-2 any sequence at once, ${RUNS.numRuns} times`, async () => {
  await fc.assert(fc.asyncProperty(histories, keepsItsProperties), RUNS);
});
