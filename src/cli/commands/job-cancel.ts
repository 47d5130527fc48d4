/** `holdfast job cancel ID`. */
import type { Context, Outcome } from "../context.js";
import { jobIdOf, jobOutcome, openTheJobs } from "../jobs.js";

export async function run(context: Context): Promise<Outcome> {
  const id = jobIdOf(context);
  const job = await (await openTheJobs(context)).cancel(id);
  return jobOutcome(job.state === "running" ? "told to stop:" : "cancelled", job);
}
