import { describe, it } from "vitest";
import { Scene, STORES } from "./scene.js";
import { stealInRounds } from "./stealers.js";

const ROUNDS = process.env.HOLDFAST_SOAK === "sample" ? 100 : 1_000;

describe.each(STORES)("stealers (%s)", (kind) => {
  it(`STALE-3: ${ROUNDS} times each, of ten that find the same killed or lapsed holder's grant, one wins`, async () => {
    await using scene = new Scene(kind);
    await stealInRounds(scene, { killed: ROUNDS, lapsed: ROUNDS });
  });
});
