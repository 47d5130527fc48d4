/** `holdfast job show ID`. */
import type { Context, Outcome } from "../context.js";
import { jobIdOf, jobText, openTheJobs } from "../jobs.js";

export async function run(context: Context): Promise<Outcome> {
  const id = jobIdOf(context);
  const job = await (await openTheJobs(context)).get(id);
  return { data: { job }, text: (screen) => jobText(job, screen) };
}
