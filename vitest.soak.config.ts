import { defineConfig } from "vitest/config";
import { NotRunReporter } from "./test/fixtures/not-run.fixture.js";

/** The long sweeps. HOLDFAST_SOAK=sample (what CI runs) takes a slice of each; unset takes all of it. */
export default defineConfig({
  test: {
    include: ["test/soak/**/*.test.ts"],
    testTimeout: 1_800_000,
    hookTimeout: 300_000,
    ...(process.env.HOLDFAST_SOAK === "sample" ? { env: { TEST_SEED: "20261115" } } : {}),
    reporters: ["default", new NotRunReporter()],
    pool: "forks",
    maxWorkers: 1,
  },
});
