import { afterAll, beforeAll, describe, it } from "vitest";
import { openSideBySide, type SideBySide } from "../../fixtures/differential/side-by-side.fixture.js";
import { IS_SAMPLE, sample } from "../../fixtures/sample.fixture.js";

const ROUNDS = IS_SAMPLE ? 2 : 100;
const HISTORIES_A_ROUND = 300;

describe(`the same history, for a long time${sample("2 of 100 rounds")}`, () => {
  let stores: SideBySide;

  beforeAll(async () => {
    stores = await openSideBySide();
  });
  afterAll(() => stores.close());

  it.each(Array.from({ length: ROUNDS }, (_, round) => round + 1))(
    "STORE-1, STORE-2, STORE-3: gives the same answers on every store, round %i",
    () => stores.compare(HISTORIES_A_ROUND),
  );
});
