/** The view of jobs: the running and the waiting ones by project, and all jobs below. */
import type { AboutView, JobsView } from "../../views.js";
import { useLive } from "../live.js";
import { SearchField } from "../parts/controls/search-field.js";
import { SelectField } from "../parts/controls/select-field.js";
import { ViewHeading } from "../parts/heading.js";
import { Answer, Command, Empty } from "../parts/messages.js";
import { hrefWith, pushParams, queryOf, replaceParams, useRoute } from "../route.js";
import { JobTable } from "./job-table.js";
import { atLeast, ofCap } from "./job-words.js";
import { LaneList } from "./lane-list.js";

export function Jobs({ about }: { readonly about: AboutView }) {
  const { params } = useRoute();
  const project = params.get("project") ?? "";
  const state = params.get("state") ?? "";
  const after = params.get("after") ?? "";
  const path = `/api/jobs?${queryOf({ project, state, after })}`;
  const live = useLive<JobsView>(path);
  const { data } = live;
  const states = data?.states ?? (state === "" ? [] : [state]);
  const isFiltered = project !== "" || state !== "" || after !== "";

  return (
    <>
      <ViewHeading title="Jobs">{data === null ? "" : summaryOf(data)}</ViewHeading>
      <search class="tools">
        <SearchField
          label="Project"
          hint="all projects"
          value={project}
          isWide
          onSearch={(next) => replaceParams({ project: next, after: null })}
        />
        <SelectField
          label="State"
          value={state}
          choices={[{ value: "", text: "all states" }, ...states.map((each) => ({ value: each, text: each }))]}
          onChoose={(next) => pushParams({ state: next, after: null })}
        />
      </search>
      <Answer live={live}>
        {(view) => (
          <>
            {view.lanes.lanes.length > 0 && <LaneList lanes={view.lanes} />}
            {view.jobs.length === 0 ? (
              <NoJobs isFiltered={isFiltered} />
            ) : (
              <>
                <h3 class="part-title">All jobs, newest first</h3>
                <JobTable list={live.asked} jobs={view.jobs} allowsActions={about.allows_actions} />
                <Pages hasBefore={after !== ""} next={view.next} />
              </>
            )}
          </>
        )}
      </Answer>
    </>
  );
}

function summaryOf({ lanes }: JobsView): string {
  const ready = lanes.lanes.reduce((sum, lane) => sum + lane.ready, 0);
  const scheduled = lanes.scheduled === 0 ? "" : `, ${atLeast(lanes.scheduled)} scheduled`;
  return `${ofCap(lanes.running, lanes.cap)} running, ${atLeast(ready)} ready${scheduled}`;
}

/** By number there is a way on and a way to the first, and back is in the browser. */
function Pages({ hasBefore, next }: { readonly hasBefore: boolean; readonly next: number | null }) {
  if (!hasBefore && next === null) return null;
  return (
    <nav class="pager" aria-label="Pages">
      {hasBefore ? (
        <a class="step" href={hrefWith({ after: null })}>
          First page
        </a>
      ) : (
        <span class="step step-none">First page</span>
      )}
      {next === null ? (
        <span class="step step-none">Next</span>
      ) : (
        <a class="step" href={hrefWith({ after: next })}>
          Next
        </a>
      )}
    </nav>
  );
}

function NoJobs({ isFiltered }: { readonly isFiltered: boolean }) {
  if (isFiltered) return <Empty title="No job matches." />;
  return (
    <Empty title="There are no jobs.">
      <p>Add one, and start a worker that runs it:</p>
      <Command>holdfast job add render --project alpha -- ./render.sh m1</Command>
      <Command>holdfast worker</Command>
    </Empty>
  );
}
