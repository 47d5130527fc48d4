/** Descriptors of stores that were closed. HOLDFAST_SOAK=sample does fewer rounds. */
import { describe, expect, it } from "vitest";
import { PLACES, reopen } from "../../fixtures/client/reopening.fixture.js";
import { IS_SAMPLE, sample } from "../../fixtures/sample.fixture.js";

const ROUNDS = IS_SAMPLE ? 500 : 2_000;

describe(`a process that may have 256 files open${sample("500 rounds")}`, () => {
  it.each(PLACES)("opens and closes $place again and again", ({ optionsIn }) => {
    expect(reopen(optionsIn, ROUNDS, "open")).toBe("done\n");
  });

  it.each(PLACES)("opens, acquires, releases and closes $place again and again", ({ optionsIn }) => {
    expect(reopen(optionsIn, ROUNDS, "acquire")).toBe("done\n");
  });
});
