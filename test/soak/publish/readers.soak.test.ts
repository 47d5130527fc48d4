import { it } from "vitest";
import { readThrough } from "../../fixtures/publish/readers.fixture.js";
import { IS_SAMPLE, sample } from "../../fixtures/sample.fixture.js";

it(`PUB-1: through many publishes a reader finds the old tree or the new one, never neither${sample("150 of 1,000 publishes")}`, async () => {
  await readThrough(IS_SAMPLE ? 150 : 1_000);
});
