/** A table of jobs; each row opens to the details of its job. */

import { serverNow } from "../clock.js";
import { Badge, type Tone } from "../parts/badge.js";
import { Opener } from "../parts/controls/opener.js";
import { useOpenRows } from "../parts/controls/use-open-rows.js";
import { DetailsRow } from "../parts/details-row.js";
import { Heads } from "../parts/heads.js";
import { Key } from "../parts/key.js";
import { JobDetails } from "./job-details.js";
import { aboutJob, type Job } from "./job-words.js";

const TONES: Readonly<Record<string, Tone>> = { running: "good", failed: "bad", waiting: "warn" };
const COLUMNS = { narrow: 3, wide: 6, wider: 7 };

export function JobTable(props: {
  readonly list: string;
  readonly jobs: readonly Job[];
  readonly allowsActions: boolean;
}) {
  const { list, jobs, allowsActions } = props;
  const { rows, isOpen, toggle } = useOpenRows(list, jobs, (job) => String(job.id));
  return (
    <table class="grid jobs">
      <caption class="unseen">Jobs, newest first</caption>
      <Heads
        columns={[
          ["Job"],
          ["State"],
          ["Project", "wide"],
          ["Kind"],
          ["Map", "wider"],
          ["Tries", "wide right"],
          ["About", "wide"],
        ]}
      />
      <tbody>
        {rows.map(({ id, row }) => (
          <JobRow key={id} job={row} isOpen={isOpen(id)} onToggle={() => toggle(id)} allowsActions={allowsActions} />
        ))}
      </tbody>
    </table>
  );
}

function JobRow(props: {
  readonly job: Job;
  readonly isOpen: boolean;
  readonly onToggle: () => void;
  readonly allowsActions: boolean;
}) {
  const { job, isOpen, onToggle, allowsActions } = props;
  const id = `job-${job.id}`;
  const about = aboutJob(job, serverNow());
  return (
    <>
      <tr class={isOpen ? "row row-open" : "row"}>
        <th scope="row">
          <Opener isOpen={isOpen} controls={id} onToggle={onToggle}>
            {job.id}
          </Opener>
        </th>
        <td>
          <Badge
            text={job.state}
            tone={job.is_lapsed || job.unmet_needs.length > 0 ? "warn" : (TONES[job.state] ?? "plain")}
          />
        </td>
        <td class="wide">
          <Key>{job.project}</Key>
        </td>
        <td>
          {job.kind}
          <div class="narrow under-key">
            <Key>{job.project}</Key>
            {about === "" ? "" : `, ${about}`}
          </div>
        </td>
        <td class="wider">
          <Key>{job.map ?? ""}</Key>
        </td>
        <td class="wide right">
          {job.attempts} of {job.max_attempts}
        </td>
        <td class="wide about">{about}</td>
      </tr>
      {isOpen && (
        <DetailsRow id={id} columns={COLUMNS}>
          <JobDetails job={job} allowsActions={allowsActions} />
        </DetailsRow>
      )}
    </>
  );
}
