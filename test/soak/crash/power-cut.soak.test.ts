/** Many histories on the simulated disk. HOLDFAST_SOAK=sample takes a slice. */
import { rmSync } from "node:fs";
import { expect, it } from "vitest";
import { scratchFolder } from "../../fixtures/crash/crash-sweep.fixture.js";
import { livesThroughCuts } from "../../fixtures/crash/power-cut.fixture.js";
import { IS_SAMPLE, sample } from "../../fixtures/sample.fixture.js";

const HISTORIES = IS_SAMPLE ? 20 : 300;

it(`STORE-2: detached grants survive a power cut, the others are over, and numbers only grow (${HISTORIES} histories)${sample("20 of 300 histories")}`, async () => {
  const base = scratchFolder();
  for (let seed = 1_000; seed < 1_000 + HISTORIES; seed += 1) await livesThroughCuts(base, seed, 25, 30);
  rmSync(base, { recursive: true, force: true });
  expect.hasAssertions();
});
