import { defineConfig } from "vitest/config";
import { NotRunReporter } from "./test/fixtures/not-run.fixture.js";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/soak/**", "node_modules/**"],
    // A machine that is busy enough takes a minute for what takes a second: only what hangs may end by the clock.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 60_000 } },
    // So that a run finds what the run before it found. The soak run looks for more.
    env: { TEST_SEED: "20261115" },
    reporters: ["default", new NotRunReporter()],
    pool: "forks",
    // Many tests mostly wait for processes, leases and disks: two more fill the gaps of two cores.
    maxWorkers: 4,
  },
});
