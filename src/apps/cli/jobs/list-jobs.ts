/** Lists jobs, a page at a time, or with `--watch` shows the running ones live. */

import { given } from "../../../base/given.js";
import type { JobRecord, JobState } from "../../../jobs.js";
import type { ContextWith, Outcome } from "../command.js";
import { jobTable, openTheJobs, readTheJobs } from "./jobs.js";
import { watchJobs } from "./watch-jobs.js";

const DEFAULT_LIMIT = 100;

interface ListFlags {
  readonly watch: boolean;
  readonly project: string | undefined;
  readonly state: JobState | undefined;
  readonly limit: number | undefined;
  readonly after: number | undefined;
}

export async function listJobs(context: ContextWith<ListFlags>): Promise<Outcome> {
  const { watch, project, state, limit = DEFAULT_LIMIT, after } = context.flags;
  if (watch) {
    await watchJobs(context, (await readTheJobs(context)) ?? (await openTheJobs(context)));
    return {};
  }
  const page = { limit, ...given({ project, state, after }) };
  const jobs: readonly JobRecord[] = (await (await readTheJobs(context))?.list(page)) ?? [];
  const next = jobs.length < limit ? null : (jobs.at(-1)?.id ?? null);
  return {
    data: { jobs, next },
    text: (screen) => jobTable(jobs, screen),
    notes: jobs.length === 0 ? ["no jobs"] : next === null ? [] : [`more: the same with --after ${next}`],
  };
}
