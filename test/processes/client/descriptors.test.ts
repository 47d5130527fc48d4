/** Descriptors of stores that were closed; more rounds are in test/soak/client/descriptors.soak.test.ts. */
import { describe, expect, it } from "vitest";
import { PATIENTLY } from "../../fixtures/client/processes.fixture.js";
import { PLACES, reopen } from "../../fixtures/client/reopening.fixture.js";

// kills: sqlite-descriptors (SQLite store)
describe("a process that may have 256 files open", PATIENTLY, () => {
  it.each(PLACES)("opens and closes $place 600 times", ({ optionsIn }) => {
    expect(reopen(optionsIn, 600, "open")).toBe("done\n");
  });

  it.each(PLACES)("opens, acquires, releases and closes $place 150 times", ({ optionsIn }) => {
    expect(reopen(optionsIn, 150, "acquire")).toBe("done\n");
  });
});
