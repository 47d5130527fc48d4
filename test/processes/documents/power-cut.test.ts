import { rmSync } from "node:fs";
import { afterAll, beforeAll, it } from "vitest";
import { newFastFolder } from "../../fixtures/documents/documents.fixture.js";
import { livesThroughCuts } from "../../fixtures/documents/power-cut.fixture.js";

let base: string;
beforeAll(() => {
  base = newFastFolder();
});
afterAll(() => rmSync(base, { recursive: true, force: true }));

// kills: documents-commit-sync, documents-clear-sync
it.each([1, 2, 3])(
  "BOARD-2 what was acknowledged is there after a power cut at any moment, history %i",
  async (seed) => {
    await livesThroughCuts(base, seed, 30, 25);
  },
);
