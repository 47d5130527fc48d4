/** The details of one job, and the actions on it. */

import { useState } from "preact/hooks";
import { Said } from "../parts/action-result.js";
import { Dialog } from "../parts/controls/dialog.js";
import { useAction } from "../parts/controls/use-action.js";
import { Facts, Json } from "../parts/facts.js";
import { Key } from "../parts/key.js";
import { At } from "../parts/times.js";
import { type Job, needsOf } from "./job-words.js";

const OVER = ["done", "failed", "cancelled"];
const RETRIED = ["failed", "cancelled"];

export function JobDetails({ job, allowsActions }: { readonly job: Job; readonly allowsActions: boolean }) {
  return (
    <>
      <Facts
        facts={[
          ["kind", job.kind],
          ["project", job.map === null ? job.project : `${job.project}, map ${job.map}`],
          ["class", `${job.class}, priority ${job.priority}`],
          job.cron === null ? null : ["times", `${job.cron} (${job.time_zone})`],
          job.state !== "scheduled" ? null : ["next", <At at={job.run_at} />],
          job.schedule === null ? null : ["schedule", job.schedule],
          needsOf(job).length === 0 ? null : ["needs", needsOf(job).join(", ")],
          job.locks.length === 0
            ? null
            : ["locks", <Key>{job.locks.map((lock) => `${lock.mode} ${lock.resource}`).join(", ")}</Key>],
          job.command === null ? null : ["command", <code>{job.command.join(" ")}</code>],
          job.unique_key === null ? null : ["unique", <Key>{job.unique_key}</Key>],
          ["tries", `${job.attempts} of ${job.max_attempts}`],
          job.error === null ? null : ["error", `${job.error.message} (${job.error.code})`],
          job.worker === null ? null : ["worker", <Key>{job.worker}</Key>],
          ["added", <At at={job.created_at} />],
          job.started_at === null ? null : ["started", <At at={job.started_at} />],
          job.ended_at === null ? null : ["ended", <At at={job.ended_at} />],
          job.payload === null ? null : ["payload", <Json value={job.payload} />],
          job.progress === null ? null : ["progress", <Json value={job.progress} />],
          job.result === null ? null : ["result", <Json value={job.result} />],
        ]}
      />
      {allowsActions && <JobActions job={job} />}
    </>
  );
}

function JobActions({ job }: { readonly job: Job }) {
  const [isAsking, setAsking] = useState(false);
  const action = useAction();
  const cancel = async (): Promise<void> => {
    setAsking(false);
    await action.run("job-cancel", { id: job.id });
  };
  return (
    <div class="actions">
      {!OVER.includes(job.state) && (
        <button type="button" class="danger" onClick={() => setAsking(true)}>
          Cancel…
        </button>
      )}
      {RETRIED.includes(job.state) && (
        <button type="button" onClick={() => action.run("job-retry", { id: job.id })}>
          Retry
        </button>
      )}
      <Said said={action.said} />
      {isAsking && (
        <Dialog title={`Cancel job ${job.id}`} onClose={() => setAsking(false)}>
          <p>
            {job.state === "running"
              ? `This ${job.kind} of ${job.project} runs. It is told within two seconds, and its command is ended.`
              : `This ${job.kind} of ${job.project} has not begun. It is over at once.`}
          </p>
          <div class="dialog-end">
            <button type="button" onClick={() => setAsking(false)}>
              Leave it
            </button>
            <button type="button" class="danger-full" onClick={cancel}>
              Cancel the job
            </button>
          </div>
        </Dialog>
      )}
    </div>
  );
}
