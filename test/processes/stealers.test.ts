import { describe, it } from "vitest";
import { PATIENTLY, Scene, STORES } from "./scene.js";
import { stealInRounds } from "./stealers.js";

describe.each(STORES)("stealers (%s)", PATIENTLY, (kind) => {
  it.each([
    ["killed", 50],
    ["lapsed", 10],
  ] as const)("STALE-3: of ten that find the same %s holder's grant, one wins, %d times", async (staleness, rounds) => {
    await using scene = new Scene(kind);
    await stealInRounds(scene, rounds, staleness);
  });
});
