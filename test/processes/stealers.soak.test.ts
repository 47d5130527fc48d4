import { describe, it } from "vitest";
import { Scene, STORES } from "./scene.js";
import { stealInRounds } from "./stealers.js";

const ROUNDS = process.env.HOLDFAST_SOAK === "sample" ? 100 : 1_000;

describe.each(STORES)("stealers (%s)", (kind) => {
  it.each(["killed", "lapsed"] as const)(
    `STALE-3: ${ROUNDS} times, of ten that find the same %s holder's grant, one wins`,
    async (staleness) => {
      await using scene = new Scene(kind);
      await stealInRounds(scene, ROUNDS, staleness);
    },
  );
});
