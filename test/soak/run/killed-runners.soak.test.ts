import { expect, it } from "vitest";
import { killRunners } from "../../fixtures/run/killed-runners.fixture.js";
import { IS_SAMPLE, sample } from "../../fixtures/sample.fixture.js";

const FOR_MS = IS_SAMPLE ? 8_000 : 300_000;

it(`RUN-1 runners killed at random, for longer${sample("8 of 300 seconds")}`, async () => {
  const { bad, sections, killed } = await killRunners({ forMs: FOR_MS, runners: 4 });
  expect(bad).toBe("");
  expect(sections).toBeGreaterThan(0);
  expect(killed).toBeGreaterThan(0);
});
