import { describe, it } from "vitest";
import { countUnderFire, type Variant } from "../../fixtures/client/counter.fixture.js";
import { Scene, STORES } from "../../fixtures/client/processes.fixture.js";
import { IS_SAMPLE, sample } from "../../fixtures/sample.fixture.js";

const SECONDS = IS_SAMPLE ? 15 : 180;
const MIX: readonly Variant[] = ["inside", "around", "borrowed"];

describe.each(STORES)("a shared counter (%s)", (kind) => {
  it(`FENCE-3: twenty processes under ${SECONDS} s of kills and stops lose no increment${sample("15 of 180 seconds")}`, async () => {
    await using scene = new Scene(kind);
    await countUnderFire(scene, MIX, SECONDS * 1_000);
  });
});
