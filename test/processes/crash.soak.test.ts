import { describe, it } from "vitest";
import { crashOften } from "./crash.js";
import { Scene, STORES } from "./scene.js";

const KILLS = process.env.HOLDFAST_SOAK === "sample" ? 100 : 1_000;

describe.each(STORES)("crashes (%s)", (kind) => {
  it(`AUDIT-3: ${KILLS} kills in the middle of anything leave the store sound and every lock to be had`, async () => {
    await using scene = new Scene(kind);
    await crashOften(scene, KILLS);
  });
});
