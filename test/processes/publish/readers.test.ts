import { it } from "vitest";
import { readThrough } from "../../fixtures/publish/readers.fixture.js";

it("PUB-1: through a hundred publishes a reader finds the old tree or the new one, never neither", async () => {
  await readThrough(100);
});
