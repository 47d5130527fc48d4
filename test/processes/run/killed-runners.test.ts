import { expect, it } from "vitest";
import { killRunners } from "../../fixtures/run/killed-runners.fixture.js";
import { PATIENTLY } from "../../fixtures/run/run.fixture.js";

it("RUN-1 runners killed at random: no two commands of one key ever run together", PATIENTLY, async () => {
  const { bad, sections } = await killRunners({ forMs: 4_000, runners: 3 });
  expect(bad).toBe("");
  expect(sections).toBeGreaterThan(0);
});
