import { describe, it } from "vitest";
import { PATIENTLY, Scene, STORES } from "../../fixtures/client/processes.fixture.js";
import { stealInRounds } from "../../fixtures/client/stealers.fixture.js";

describe.each(STORES)("stealers (%s)", PATIENTLY, (kind) => {
  // kills: remembered-trees, steal-on-record
  it("STALE-3: of ten that find the same stale grant, one wins: 50 times a killed holder's, 10 times a lapsed one", async () => {
    await using scene = new Scene(kind);
    await stealInRounds(scene, { killed: 50, lapsed: 10 });
  });
});
