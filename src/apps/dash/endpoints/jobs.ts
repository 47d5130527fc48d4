/** The endpoint `jobs`: the running and waiting jobs, project by project, and all jobs, newest first. */

import { HoldfastError } from "../../../base/errors.js";
import { given } from "../../../base/given.js";
import { JOB_STATES } from "../../../features/jobs/model.js";
import type { Query } from "../query.js";
import type { Sources } from "../sources.js";
import type { JobsView } from "../views.js";

const PAGE = 100;

export async function jobs({ jobs: queue }: Sources, query: Query): Promise<Omit<JobsView, "now">> {
  if (queue === null) throw new HoldfastError("E_CONFIG", "this store has no jobs", { reason: "unsupported_store" });
  const project = query.text("project");
  const state = query.oneOf("state", JOB_STATES);
  const before = query.integer("after", Number.MAX_SAFE_INTEGER, 1, Number.MAX_SAFE_INTEGER);
  const found = await queue.list({ limit: PAGE, before, ...given({ project, state }) });
  return {
    lanes: await queue.lanes(given({ project })),
    jobs: found,
    next: found.length < PAGE ? null : (found.at(-1)?.id ?? null),
    states: JOB_STATES,
  };
}
