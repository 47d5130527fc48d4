import { afterAll, beforeAll, describe, it } from "vitest";
import { anyCrowd } from "../../fixtures/differential/history.fixture.js";
import { openModelWithoutDeaths, openPostgresHabitat } from "../../fixtures/differential/postgres-store.fixture.js";
import { createSideBySide, type SideBySide } from "../../fixtures/differential/side-by-side.fixture.js";
import { sharedServer } from "../../fixtures/postgres/server.fixture.js";

const HISTORIES = 15;
const CROWDS = 12;

let stores: SideBySide;

beforeAll(async () => {
  stores = createSideBySide([await openModelWithoutDeaths(), await openPostgresHabitat(await sharedServer())]);
}, 240_000);
afterAll(() => stores.close());

describe("the same history", () => {
  it(
    "STORE-4: gives the same answers, grants, lines and records on PostgreSQL as on the reference store",
    () => stores.compare(HISTORIES),
    600_000,
  );

  // kills: postgres-first-in-line
  it(
    "LOCK-12: the same on the short ways of a crowd that wants one key",
    () => stores.compare(CROWDS, anyCrowd),
    600_000,
  );
});
