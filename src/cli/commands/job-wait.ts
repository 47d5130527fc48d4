/** `holdfast job wait ID`. */
import type { Context, Outcome } from "../context.js";
import { jobIdOf, jobOutcome, jobProgress, openTheJobs } from "../jobs.js";
import { openProgress } from "../progress.js";
import { waitingFor } from "../waiting.js";

/** It is over, but not done. */
const NOT_DONE = 1;

export async function run(context: Context): Promise<Outcome> {
  const id = jobIdOf(context);
  const jobs = await openTheJobs(context);
  const progress = openProgress(context.screen);
  try {
    const told = { late: `job ${id} was not over`, look: `holdfast job show ${id}` };
    const job = await waitingFor(context, told, (signal) =>
      jobs.wait(id, {
        signal,
        onProgress: (job) => progress.show(jobProgress(job)),
      }),
    );
    return { ...jobOutcome("waited for", job), exit: job.state === "done" ? 0 : NOT_DONE };
  } finally {
    progress.end();
  }
}
