/** `holdfast job list`, and with `--watch` what goes on, live. */
import type { JobRecord, JobState } from "../../jobs/index.js";
import type { Context, Outcome } from "../context.js";
import { jobTable, openTheJobs } from "../jobs.js";
import { watchJobs } from "../watch-jobs.js";

const DEFAULT_LIMIT = 100;

export async function run(context: Context): Promise<Outcome> {
  const { flags } = context;
  if (flags.has("watch")) {
    await watchJobs(context, await openTheJobs(context));
    return {};
  }
  const limit = flags.integer("limit") ?? DEFAULT_LIMIT;
  const [project, state, after] = [flags.text("project"), flags.text("state"), flags.integer("after")];
  const page = {
    limit,
    ...(project === undefined ? {} : { project }),
    ...(state === undefined ? {} : { state: state as JobState }),
    ...(after === undefined ? {} : { after }),
  };
  const isThere = (await context.openForReading()) !== null;
  const jobs: readonly JobRecord[] = isThere ? await (await openTheJobs(context)).list(page) : [];
  const next = jobs.length < limit ? null : (jobs.at(-1)?.id ?? null);
  return {
    data: { jobs, next },
    text: (screen) => jobTable(jobs, screen),
    notes: jobs.length === 0 ? ["no jobs"] : next === null ? [] : [`more: the same with --after ${next}`],
  };
}
