/** A table of jobs; each row opens to the details of its job. */

import { serverNow } from "../clock.js";
import { Badge, type Tone } from "../parts/badge.js";
import { Key } from "../parts/key.js";
import { type Column, Table } from "../parts/table.js";
import { JobDetails } from "./job-details.js";
import { aboutJob, type Job } from "./job-words.js";

const TONES: Readonly<Record<string, Tone>> = { running: "good", failed: "bad", waiting: "warn" };

const COLUMNS: readonly Column<Job>[] = [
  { title: "Job", isName: true, opener: (job) => job.id },
  { title: "State", cell: (job) => <Badge text={job.state} tone={toneOf(job)} /> },
  { title: "Project", classes: "wide", cell: (job) => <Key>{job.project}</Key> },
  {
    title: "Kind",
    cell: (job) => (
      <>
        {job.kind}
        <div class="narrow under-key">
          <Key>{job.project}</Key>
          {about(job) === "" ? "" : `, ${about(job)}`}
        </div>
      </>
    ),
  },
  { title: "Map", classes: "wider", cell: (job) => <Key>{job.map ?? ""}</Key> },
  { title: "Tries", classes: "wide right", cell: (job) => `${job.attempts} of ${job.max_attempts}` },
  { title: "About", classes: "wide about", cell: about },
];

export function JobTable(props: {
  readonly list: string;
  readonly jobs: readonly Job[];
  readonly allowsActions: boolean;
}) {
  const { list, jobs, allowsActions } = props;
  return (
    <Table
      name="jobs"
      caption="Jobs, newest first"
      columns={COLUMNS}
      rows={jobs}
      idOf={(job) => String(job.id)}
      list={list}
      details={(job) => <JobDetails job={job} allowsActions={allowsActions} />}
    />
  );
}

function toneOf(job: Job): Tone {
  return job.is_lapsed || job.unmet_needs.length > 0 ? "warn" : (TONES[job.state] ?? "plain");
}

function about(job: Job): string {
  return aboutJob(job, serverNow());
}
