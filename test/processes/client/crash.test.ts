import { describe, it } from "vitest";
import { crashOften } from "../../fixtures/client/crash.fixture.js";
import { PATIENTLY, Scene, STORES } from "../../fixtures/client/processes.fixture.js";

describe.each(STORES)("crashes (%s)", PATIENTLY, (kind) => {
  it("AUDIT-3: kills in the middle of anything leave the store sound and every lock to be had", async () => {
    await using scene = new Scene(kind);
    await crashOften(scene, 15);
  });
});
