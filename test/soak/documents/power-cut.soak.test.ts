import { rmSync } from "node:fs";
import { afterAll, beforeAll, it } from "vitest";
import { newFastFolder } from "../../fixtures/documents/documents.fixture.js";
import { livesThroughCuts } from "../../fixtures/documents/power-cut.fixture.js";
import { IS_SAMPLE, sample } from "../../fixtures/sample.fixture.js";

const HISTORIES = IS_SAMPLE ? 4 : 200;
let base: string;
beforeAll(() => {
  base = newFastFolder();
});
afterAll(() => rmSync(base, { recursive: true, force: true }));

it(`BOARD-2 what was acknowledged is there after a power cut, ${HISTORIES} histories${sample("4 of 200 histories")}`, async () => {
  for (let seed = 100; seed < 100 + HISTORIES; seed += 1) await livesThroughCuts(base, seed, 40, 40);
});
