/** `holdfast job retry ID`. */
import type { Context, Outcome } from "../context.js";
import { jobIdOf, jobOutcome, openTheJobs } from "../jobs.js";

export async function run(context: Context): Promise<Outcome> {
  const id = jobIdOf(context);
  return jobOutcome("retried", await (await openTheJobs(context)).retry(id));
}
