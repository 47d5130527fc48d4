import { describe, it } from "vitest";
import { Scene, STORES } from "./scene.js";
import { stealInRounds } from "./stealers.js";

describe.each(STORES)("stealers (%s)", (kind) => {
  it.each(["killed", "lapsed"] as const)(
    "STALE-3: of ten that find the same %s holder's grant, one wins",
    async (staleness) => {
      await using scene = new Scene(kind);
      await stealInRounds(scene, 100, staleness);
    },
  );
});
