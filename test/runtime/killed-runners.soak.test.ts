import { expect, it } from "vitest";
import { killRunners } from "./killed-runners.js";

const FOR_MS = process.env.HOLDFAST_SOAK === "sample" ? 8_000 : 300_000;

it("RUN-1 runners killed at random, for longer", async () => {
  const { bad, sections, killed } = await killRunners({ forMs: FOR_MS, runners: 4 });
  expect(bad).toBe("");
  expect(sections).toBeGreaterThan(0);
  expect(killed).toBeGreaterThan(0);
});
