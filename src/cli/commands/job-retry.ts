/** `holdfast job retry ID`. */
import type { Context, Outcome } from "../context.js";
import { jobIdOf, jobOutcome, openTheJobs } from "../jobs.js";

export async function run(context: Context): Promise<Outcome> {
  const id = jobIdOf(context);
  const job = await (await openTheJobs(context)).retry(id);
  const isAnew = job.attempts === 0 && (job.state === "ready" || job.state === "scheduled");
  return jobOutcome(isAnew ? "retried" : "neither failed nor cancelled:", job);
}
