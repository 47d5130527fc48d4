/** `holdfast job logs ID`: the end of what a command printed. */
import type { CommandResult } from "../../jobs/index.js";
import type { Context, Outcome } from "../context.js";
import { jobIdOf, openTheJobs } from "../jobs.js";

export async function run(context: Context): Promise<Outcome> {
  const id = jobIdOf(context);
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
