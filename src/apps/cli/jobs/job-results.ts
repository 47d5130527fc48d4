/** Waits for the end of a job, and shows the output of its command. */
import type { CommandResult } from "../../../jobs.js";
import type { ContextWith, Outcome } from "../command.js";
import { waitingFor } from "../input/wait-flag.js";
import { openProgress } from "../output/progress.js";
import { jobIdOf, jobOutcome, jobProgress, openTheJobs } from "./jobs.js";

/** The exit code for a job that is over, but not done. */
const NOT_DONE = 1;

interface Job {
  readonly ID: string;
}

export async function waitForJob(context: ContextWith<{ readonly wait: string | undefined }, Job>): Promise<Outcome> {
  const id = jobIdOf(context.args.ID);
  const jobs = await openTheJobs(context);
  const progress = openProgress(context.screen);
  try {
    const late = { late: `job ${id} was not over`, look: `holdfast job show ${id}` };
    const job = await waitingFor(context, late, (signal) =>
      jobs.wait(id, { signal, onProgress: (job) => progress.show(jobProgress(job)) }),
    );
    return { ...jobOutcome("waited for", job), exit: job.state === "done" ? 0 : NOT_DONE };
  } finally {
    progress.end();
  }
}

/** Shows the end of what the command of a job printed in its last run. */
export async function showLogs(context: ContextWith<unknown, Job>): Promise<Outcome> {
  const id = jobIdOf(context.args.ID);
  const job = await (await openTheJobs(context)).get(id);
  const result = job.command === null ? null : (job.result as Partial<CommandResult> | null);
  const output = result?.output ?? "";
  return {
    data: { job: id, output, exit_code: result?.exit_code ?? null, signal: result?.signal ?? null },
    text: () => output,
    isRaw: true,
    notes: output === "" ? [`job ${id} (${job.state}) has no output that was kept`] : [],
  };
}
