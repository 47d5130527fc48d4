/**
 * Checks whether an owner is a running job: `job:ID` with a slot that is not over. The slot decides, not the state of
 * the job.
 */
import { endedBy, epochTimeOf, HAS_ENDED } from "../../../lock/job-time.js";
import type { Clock } from "../../../platform/clock.js";
import type { Database } from "../connection/database.js";

const JOB = /^job:([1-9]\d{0,15})$/;

export function activeJobs(database: Database, clock: Clock): (owner: string) => boolean {
  return (owner) => {
    const job = JOB.exec(owner)?.[1];
    if (job === undefined) return false;
    const slot = database.statement(`SELECT 1 FROM job_slots WHERE job = ?4 AND NOT (${HAS_ENDED})`);
    return slot.all([...endedBy(epochTimeOf(clock())), Number(job)]).length > 0;
  };
}
