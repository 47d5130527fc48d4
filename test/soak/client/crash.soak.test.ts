import { describe, it } from "vitest";
import { crashOften } from "../../fixtures/client/crash.fixture.js";
import { Scene, STORES } from "../../fixtures/client/processes.fixture.js";
import { IS_SAMPLE, sample } from "../../fixtures/sample.fixture.js";

const KILLS = IS_SAMPLE ? 100 : 1_000;

describe.each(STORES)("crashes (%s)", (kind) => {
  it(`AUDIT-3: ${KILLS} kills in the middle of anything leave the store sound and every lock to be had${sample("100 of 1,000 kills")}`, async () => {
    await using scene = new Scene(kind);
    await crashOften(scene, KILLS);
  });
});
