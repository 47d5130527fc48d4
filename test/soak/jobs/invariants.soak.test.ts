import { describe, it } from "vitest";
import { holdsInHistories } from "../../fixtures/jobs/histories.fixture.js";
import { IS_SAMPLE, sample } from "../../fixtures/sample.fixture.js";

const RUNS = IS_SAMPLE ? { numRuns: 8, seed: 8 } : { numRuns: 400 };

describe.each(["sqlite", "postgres"] as const)(
  `JOB-2, JOB-5: in many histories, on %s${sample("8 of 400 histories")}`,
  (on) => {
    it("counters, caps, fences and locks are as they must be", { timeout: 3_600_000 }, () =>
      holdsInHistories(on, RUNS),
    );
  },
);
