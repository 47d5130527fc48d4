import { describe, it } from "vitest";
import { survive } from "./chaos.js";
import { STORES } from "./place.js";

const isSample = process.env.HOLDFAST_SOAK === "sample";

describe.each(isSample ? ["sqlite" as const] : STORES)("JOB-5, JOB-6: what vanishes again and again, on %s", (on) => {
  it(
    "loses no job that was acknowledged, settles none twice, exceeds no cap, leaves nothing behind",
    { timeout: 3_600_000 },
    () => survive(on, isSample ? { rounds: 1, jobs: 12 } : { rounds: 25, jobs: 24 }),
  );
});
