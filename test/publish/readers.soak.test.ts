import { it } from "vitest";
import { readThrough } from "./readers.js";

it("PUB-1: through a thousand publishes a reader finds the old tree or the new one, never neither", async () => {
  await readThrough(process.env.HOLDFAST_SOAK === "sample" ? 150 : 1_000);
});
