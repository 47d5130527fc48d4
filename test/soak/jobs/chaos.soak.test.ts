import { describe, it } from "vitest";
import { survive } from "../../fixtures/jobs/chaos.fixture.js";
import { STORES } from "../../fixtures/jobs/jobs.fixture.js";
import { IS_SAMPLE, sample } from "../../fixtures/sample.fixture.js";

const TITLE = `JOB-5, JOB-6: what vanishes again and again, on %s${sample("SQLite only, 1 of 25 rounds")}`;

describe.each(IS_SAMPLE ? ["sqlite" as const] : STORES)(TITLE, (on) => {
  it(
    "loses no job that was acknowledged, settles none twice, exceeds no cap, leaves nothing behind",
    { timeout: 3_600_000 },
    () => survive(on, IS_SAMPLE ? { rounds: 1, jobs: 12 } : { rounds: 25, jobs: 24 }),
  );
});
