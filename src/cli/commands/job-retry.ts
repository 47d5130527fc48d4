/** `holdfast job retry ID`. */
import type { JobRecord } from "../../jobs/index.js";
import type { Context, Outcome } from "../context.js";
import { jobIdOf, jobOutcome, openTheJobs } from "../jobs.js";

export async function run(context: Context): Promise<Outcome> {
  const id = jobIdOf(context);
  const jobs = await openTheJobs(context);
  const found = await jobs.get(id);
  if (found.state === "failed" || found.state === "cancelled") return jobOutcome("retried", await jobs.retry(id));
  return jobOutcome(isOnItsWay(found) ? "nothing to retry, it waits already:" : "neither failed nor cancelled:", found);
}

function isOnItsWay({ state }: JobRecord): boolean {
  return state === "scheduled" || state === "ready" || state === "waiting";
}
