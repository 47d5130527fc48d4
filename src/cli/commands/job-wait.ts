/** `holdfast job wait ID`. */
import type { Context, Outcome } from "../context.js";
import { jobIdOf, jobOutcome, openTheJobs } from "../jobs.js";
import { openProgress } from "../progress.js";
import { waitingFor } from "../waiting.js";

/** It is over, but not done. */
const NOT_DONE = 1;

export async function run(context: Context): Promise<Outcome> {
  const id = jobIdOf(context);
  const jobs = await openTheJobs(context);
  const progress = openProgress(context.screen);
  try {
    const job = await waitingFor(context, `the end of job ${id}`, (signal) =>
      jobs.wait(id, {
        signal,
        onProgress: ({ state, progress: value }) =>
          progress.show(`job ${id} is ${state}${value === null ? "" : `: ${JSON.stringify(value)}`}`),
      }),
    );
    return { ...jobOutcome("waited for", job), exit: job.state === "done" ? 0 : NOT_DONE };
  } finally {
    progress.end();
  }
}
