import { afterAll, beforeAll, describe, it } from "vitest";
import { IS_SAMPLE, sample } from "../fixtures/sample.fixture.js";
import { sharedServer } from "../postgres/server.js";
import { anyCrowd } from "./history.js";
import { openModelWithoutDeaths, openPostgresHabitat } from "./postgres-habitat.js";
import { createSideBySide, type SideBySide } from "./side-by-side.js";

const ROUNDS = IS_SAMPLE ? 1 : 40;
const HISTORIES_A_ROUND = 40;

describe(`the same history on PostgreSQL, for a long time${sample("1 of 40 rounds")}`, () => {
  let stores: SideBySide;

  beforeAll(async () => {
    stores = createSideBySide([await openModelWithoutDeaths(), await openPostgresHabitat(await sharedServer())]);
  });
  afterAll(() => stores.close());

  it.each(Array.from({ length: ROUNDS }, (_, round) => round + 1))(
    "STORE-4: gives the same answers as on the reference store, round %i",
    async () => {
      await stores.compare(HISTORIES_A_ROUND);
      await stores.compare(HISTORIES_A_ROUND, anyCrowd);
    },
  );
});
