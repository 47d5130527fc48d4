import { afterAll, beforeAll, describe, it } from "vitest";
import { anyCrowd } from "../../fixtures/differential/history.fixture.js";
import { openModelWithoutDeaths, openPostgresHabitat } from "../../fixtures/differential/postgres-store.fixture.js";
import { createSideBySide, type SideBySide } from "../../fixtures/differential/side-by-side.fixture.js";
import { sharedServer } from "../../fixtures/postgres/server.fixture.js";
import { IS_SAMPLE, sample } from "../../fixtures/sample.fixture.js";

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
