import { describe, it } from "vitest";
import { countUnderFire, type Variant } from "./counter.js";
import { Scene, STORES } from "./scene.js";

const SECONDS = process.env.HOLDFAST_SOAK === "sample" ? 15 : 180;
const MIX: readonly Variant[] = ["inside", "around", "borrowed"];

describe.each(STORES)("a shared counter (%s)", (kind) => {
  it(`FENCE-3: twenty processes under ${SECONDS} s of kills and stops lose no increment`, async () => {
    await using scene = new Scene(kind);
    await countUnderFire(scene, MIX, SECONDS * 1_000);
  });
});
