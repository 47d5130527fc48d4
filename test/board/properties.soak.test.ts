import fc from "fast-check";
import { it } from "vitest";
import { histories, keepsItsProperties } from "./properties.js";

const RUNS = process.env.HOLDFAST_SOAK === "sample" ? 10 : 300;

it(`BOARD-2 any sequence at once, ${RUNS} times`, async () => {
  await fc.assert(fc.asyncProperty(histories, keepsItsProperties), { numRuns: RUNS });
});
