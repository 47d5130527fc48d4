/** `holdfast job cancel ID`. */
import type { Context, Outcome } from "../context.js";
import { jobIdOf, jobOutcome, openTheJobs } from "../jobs.js";

export async function run(context: Context): Promise<Outcome> {
  const id = jobIdOf(context);
  const jobs = await openTheJobs(context);
  const { state: before } = await jobs.get(id);
  const job = await jobs.cancel(id);
  if (job.state === "running") return jobOutcome("told to stop:", job);
  return jobOutcome(job.state === "cancelled" && before !== "cancelled" ? "cancelled" : "over already:", job);
}
