/** Names the caps, in the form that people type. */
import { invalidArgument } from "../../base/errors.js";

/** Null is no limit; what is left out stays as it is. */
export interface Caps {
  readonly maxGlobalJobs?: number | null;
  readonly maxJobsPerProject?: number | null;
  readonly maxConcurrentMapJobsPerProject?: number | null;
  readonly maxCpuJobs?: number | null;
  readonly maxIoJobs?: number | null;
}

/** The row of `job_gates` that keeps each. */
export const GATES: Readonly<Record<keyof Caps, string>> = {
  maxGlobalJobs: "global",
  maxJobsPerProject: "each project",
  maxConcurrentMapJobsPerProject: "maps of each project",
  maxCpuJobs: "cpu",
  maxIoJobs: "io",
};

const MOST_CAP = 1_000_000;

/** `E_INVALID_ARGUMENT` naming the field. */
export function parseCaps(caps: unknown): Caps {
  if (typeof caps !== "object" || caps === null || Array.isArray(caps)) throw invalidArgument("caps", "an object");
  for (const [field, cap] of Object.entries(caps)) {
    if (!Object.hasOwn(GATES, field))
      throw invalidArgument(field, `is no cap; the caps are ${Object.keys(GATES).join(", ")}`);
    parseCap(cap, field);
  }
  return caps as Caps;
}

/** Null is no limit, 0 lets nothing start. */
export function parseCap(cap: unknown, field: string): void {
  if (cap === undefined || cap === null) return;
  if (typeof cap !== "number" || !Number.isInteger(cap) || cap < 0 || cap > MOST_CAP)
    throw invalidArgument(field, `a whole number from 0 to ${MOST_CAP}, or null for no limit`);
}
