/** A lane for each project that has running or waiting jobs. */

import { count } from "../../../../base/count-text.js";
import type { JobsView } from "../../views.js";
import { Badge } from "../parts/badge.js";
import { Key } from "../parts/key.js";
import { Since } from "../parts/times.js";
import { atLeast, type Job, ofCap, progressOf } from "./job-words.js";

type Lanes = JobsView["lanes"];
type Lane = Lanes["lanes"][number];

/** More places are drawn as one bar. */
const MOST_PLACES = 24;

export function LaneList({ lanes: { lanes, more } }: { readonly lanes: Lanes }) {
  return (
    <section aria-label="Lanes">
      <h3 class="part-title">Lanes</h3>
      <ul class="lanes">
        {lanes.map((lane) => (
          <LaneItem key={lane.project} lane={lane} />
        ))}
      </ul>
      {more > 0 && <p class="quiet">and {count(more, "more project")}</p>}
    </section>
  );
}

function LaneItem({ lane }: { readonly lane: Lane }) {
  return (
    <li class="lane">
      <div class="lane-head">
        <h4>
          <Key>{lane.project}</Key>
        </h4>
        <Places running={lane.running} cap={lane.cap} />
        <span>
          <b>{ofCap(lane.running, lane.cap)}</b> running
        </span>
        <span class={lane.ready === 0 ? "quiet" : ""}>{atLeast(lane.ready)} ready</span>
        {lane.waiting > 0 && <span>{atLeast(lane.waiting)} waiting for a lock</span>}
        {lane.is_parked && <Badge text="held back by a cap" tone="warn" />}
      </div>
      {lane.runs.length > 0 && (
        <ul class="runs">
          {lane.runs.map((job) => (
            <RunItem key={job.id} job={job} />
          ))}
        </ul>
      )}
    </li>
  );
}

/** A place for each that may run at once, filled from the left. */
function Places({ running, cap }: { readonly running: number; readonly cap: number | null }) {
  const places = Math.max(running, cap ?? running);
  if (places === 0) return null;
  if (places > MOST_PLACES)
    return (
      <span class="meter places-bar" aria-hidden="true">
        <span class="meter-part" style={{ inlineSize: `${(100 * running) / places}%` }} />
      </span>
    );
  return (
    <span class="places" aria-hidden="true">
      {Array.from({ length: places }, (_, at) => (
        <span key={at} class={at < running ? "place-taken" : "place-free"} />
      ))}
    </span>
  );
}

function RunItem({ job }: { readonly job: Job }) {
  const progress = progressOf(job.progress);
  return (
    <li>
      <span class="quiet">job {job.id}</span>
      <span>
        <span class="strong">{job.kind}</span> {job.map !== null && <Key>{job.map}</Key>}
      </span>
      <span>
        {job.started_at !== null && (
          <>
            for <Since at={job.started_at} />
          </>
        )}
      </span>
      <span class="quiet">
        try {job.attempts} of {job.max_attempts}
      </span>
      <span class="run-progress">
        {progress.share !== null && (
          <span class="meter run-meter" aria-hidden="true">
            <span class="meter-part" style={{ inlineSize: `${100 * progress.share}%` }} />
          </span>
        )}
        {progress.text !== null && <span>{progress.text}</span>}
        {job.is_lapsed && <Badge text="worker not heard of" tone="warn" />}
      </span>
    </li>
  );
}
