/** Place × place: what clocks, boot ids and namespaces two programs see, one way in. */
import { writeFileSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { isRed } from "../../fixtures/matrix/cell.fixture.js";
import { linesOfPairs, surpriseOf } from "../../fixtures/matrix/listed.fixture.js";
import { isThere, unmountFolding } from "../../fixtures/matrix/needs.fixture.js";
import { judgePair, PAIRS, type Pair } from "../../fixtures/matrix/pairs.fixture.js";
import { IS_SAMPLE, sample } from "../../fixtures/sample.fixture.js";

const ONE_OF = 8;
const red: Pair[] = [];

afterAll(() => {
  unmountFolding();
  const file = process.env.HOLDFAST_MATRIX_RED;
  if (file !== undefined)
    writeFileSync(`${file}.pairs`, `${linesOfPairs(PAIRS.filter((pair) => red.includes(pair))).join("\n")}\n`);
  process.stdout.write(`pairs of places: ${PAIRS.length}, red: ${red.length}\n`);
});

/** Every place in each role, and not only beside itself. */
function isInSample({ holder, requester }: Pair): boolean {
  const places = PAIRS.filter((pair) => pair.requester === requester).map((pair) => pair.holder);
  return (places.indexOf(holder) + 3 * places.indexOf(requester)) % ONE_OF === 0;
}

describe(`two places${sample(`${PAIRS.length / ONE_OF} of ${PAIRS.length} pairs`)}`, () => {
  for (const pair of PAIRS.filter((each) => !IS_SAMPLE || isInSample(each))) {
    const needs = [...new Set([...pair.holder.needs, ...pair.requester.needs])];
    const end = needs.length === 0 ? "" : ` (needs ${needs.join(", ")})`;
    const title = `a requester ${pair.requester.name} is refused while a holder ${pair.holder.name} lives, and not after${end}`;
    (needs.every(isThere) ? it.concurrent : it.skip)(title, async () => {
      const judged = await judgePair(pair);
      if (isRed(judged)) red.push(pair);
      expect(surpriseOf(pair, judged)).toBeNull();
    });
  }
});
