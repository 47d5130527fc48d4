/** Many histories on the simulated disk. HOLDFAST_SOAK=sample takes a slice. */
import { rmSync } from "node:fs";
import { expect, it } from "vitest";
import { livesThroughCuts } from "./power-cut.js";
import { scratchFolder } from "./sweep.js";

const HISTORIES = process.env.HOLDFAST_SOAK === "sample" ? 20 : 300;

it(`STORE-2: detached grants survive a power cut, the others are over, and numbers only grow (${HISTORIES} histories)`, async () => {
  const base = scratchFolder();
  for (let seed = 1_000; seed < 1_000 + HISTORIES; seed += 1) await livesThroughCuts(base, seed, 25, 30);
  rmSync(base, { recursive: true, force: true });
  expect.hasAssertions();
});
