import { describe, it } from "vitest";
import { holdsInHistories } from "../../fixtures/jobs/histories.fixture.js";

/** The same histories every time, unless more are asked for. */
const { JOBS_RUNS } = process.env;
const RUNS = { sqlite: { numRuns: 25, seed: 25 }, postgres: { numRuns: 6, seed: 6 } } as const;

describe.each(["sqlite", "postgres"] as const)("JOB-2, JOB-5: whatever happens, crashes included, on %s", (on) => {
  it("counters are the slots, no start exceeds a cap, a fence settles once, locks are those of the slots", () =>
    holdsInHistories(on, JOBS_RUNS === undefined ? RUNS[on] : { numRuns: Number(JOBS_RUNS) }));
});
