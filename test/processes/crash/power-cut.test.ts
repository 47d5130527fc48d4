/** A simulated disk with a cache: after a cut only what was synced is certain. The soak run takes many more histories. */
import { rmSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { scratchFolder } from "../../fixtures/crash/crash-sweep.fixture.js";
import { type Ended, livesThroughCuts, staysEnded } from "../../fixtures/crash/power-cut.fixture.js";

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

const LONG = { ttl: "24h" };
const ENDED: Readonly<Record<string, Ended>> = {
  "an acquire of a tree's own key": { key: "alpha", end: (client) => client.acquire("alpha", LONG) },
  "an acquire of a key below": { key: "alpha/b", end: (client) => client.acquire("alpha/b", LONG) },
  "an acquire of the key above": { key: "alpha/b/c", end: (client) => client.acquire("alpha/b", LONG) },
  "an acquire of several keys": { key: "alpha/b", end: (client) => client.acquire(["alpha/b", "beta"], LONG) },
  "an acquire and a release": {
    key: "alpha/b",
    end: async (client) => (await client.acquire("alpha/b", LONG)).release(),
  },
  "a recovery": { key: "alpha/b", end: (client) => client.recover("alpha/b") },
};

// kills: durable-ends (acquire of a key below)
it.each(Object.keys(ENDED))("STORE-2: a detached grant that was ended by %s does not come back", async (how) => {
  await staysEnded(base, ENDED[how] as Ended, 40);
  expect.hasAssertions();
});
