import { describe, it } from "vitest";
import { holdsInHistories } from "./history.js";

const RUNS = process.env.HOLDFAST_SOAK === "sample" ? { numRuns: 8, seed: 8 } : { numRuns: 400 };

describe.each(["sqlite", "postgres"] as const)("JOB-2, JOB-5: in many histories, on %s", (on) => {
  it("counters, caps, fences and locks are as they must be", { timeout: 3_600_000 }, () => holdsInHistories(on, RUNS));
});
