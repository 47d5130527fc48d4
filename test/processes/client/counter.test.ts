import { describe, expect, it } from "vitest";
import { countUnderFire } from "../../fixtures/client/counter.fixture.js";
import { PATIENTLY, Scene, STORES } from "../../fixtures/client/processes.fixture.js";

describe.each(STORES)("a shared counter (%s)", PATIENTLY, (kind) => {
  it("FENCE-3: twenty processes under kills and stops lose no increment, read inside the commit and around it", async () => {
    await using scene = new Scene(kind);
    const run = await countUnderFire(scene, ["inside", "around", "borrowed"], 3_000);
    // So that nobody takes a run in which nothing happened for a proof.
    expect(run.kills).toBeGreaterThan(1);
    expect(run.stops).toBeGreaterThan(0);
    expect(run.acks).toBeGreaterThan(3);
  });
});
