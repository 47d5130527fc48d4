import { describe, it } from "vitest";
import { type Fault, survive } from "../../fixtures/jobs/chaos.fixture.js";

/** What happens to children is the same on both; the soak run does everything on both. */
const FAULTS: Readonly<Record<"sqlite" | "postgres", readonly Fault[]>> = {
  sqlite: ["worker killed", "worker frozen", "children killed", "children frozen", "watchers killed", "cap lowered"],
  postgres: ["worker killed", "cap lowered", "database crashed"],
};

describe.each(["sqlite", "postgres"] as const)("JOB-5, JOB-6: what vanishes and comes back, on %s", (on) => {
  it("loses no job that was acknowledged, settles none twice, exceeds no cap, leaves nothing behind", () =>
    survive(on, { rounds: 1, jobs: 6, faults: FAULTS[on] }));
});
