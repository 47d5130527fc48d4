import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/**/*.soak.test.ts", "node_modules/**"],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    pool: "forks",
    // Many tests mostly wait for processes, leases and disks: a third fills the gaps of two cores.
    maxWorkers: 3,
  },
});
