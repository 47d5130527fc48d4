import { describe, it } from "vitest";
import { Scene, STORES } from "../../fixtures/client/processes.fixture.js";
import { stealInRounds } from "../../fixtures/client/stealers.fixture.js";
import { IS_SAMPLE, sample } from "../../fixtures/sample.fixture.js";

const ROUNDS = IS_SAMPLE ? 100 : 1_000;

describe.each(STORES)("stealers (%s)", (kind) => {
  it(`STALE-3: ${ROUNDS} times each, of ten that find the same killed or lapsed holder's grant, one wins${sample("100 of 1,000 rounds")}`, async () => {
    await using scene = new Scene(kind);
    await stealInRounds(scene, { killed: ROUNDS, lapsed: ROUNDS });
  });
});
