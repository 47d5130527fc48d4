/** A simulated disk with a cache: after a cut only what was synced is certain. The soak run takes many more histories. */
import { rmSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { scratchFolder } from "../../fixtures/crash/crash-sweep.fixture.js";
import { livesThroughCuts } from "../../fixtures/crash/power-cut.fixture.js";

let base: string;

beforeAll(() => {
  base = scratchFolder();
});

afterAll(() => {
  rmSync(base, { recursive: true, force: true });
});

// kills: file-detached-in-place, durable-content, durable-name
it.each([1, 2, 3, 4, 5, 6])(
  "STORE-2: detached grants survive a power cut, the others are over, and numbers only grow (history %i)",
  async (seed) => {
    await livesThroughCuts(base, seed, 25, 30);
    expect.hasAssertions();
  },
);
