/** The view of jobs: the running and the waiting ones by project, and all jobs below. */
import type { AboutView, JobsView } from "../../views.js";
import { useLive } from "../live.js";
import { StepsByNumber } from "../parts/controls/pager.js";
import { SearchField } from "../parts/controls/search-field.js";
import { SelectField } from "../parts/controls/select-field.js";
import { Command, Empty } from "../parts/messages.js";
import { View } from "../parts/view.js";
import { queryOf, useRoute } from "../route.js";
import { JobTable } from "./job-table.js";
import { atLeast, ofCap } from "./job-words.js";
import { LaneList } from "./lane-list.js";

export function Jobs({ about }: { readonly about: AboutView }) {
  const { params } = useRoute();
  const project = params.get("project") ?? "";
  const state = params.get("state") ?? "";
  const after = params.get("after") ?? "";
  const live = useLive<JobsView>(`/api/jobs?${queryOf({ project, state, after })}`);
  const states = live.data?.states ?? (state === "" ? [] : [state]);
  const isFiltered = project !== "" || state !== "" || after !== "";

  return (
    <View
      title="Jobs"
      live={live}
      summary={summaryOf}
      filters={
        <>
          <SearchField label="Project" hint="all projects" param="project" isWide />
          <SelectField
            label="State"
            param="state"
            choices={[{ value: "", text: "all states" }, ...states.map((each) => ({ value: each, text: each }))]}
          />
        </>
      }
    >
      {(view) => (
        <>
          {view.lanes.lanes.length > 0 && <LaneList lanes={view.lanes} />}
          {view.jobs.length === 0 ? (
            <NoJobs isFiltered={isFiltered} />
          ) : (
            <>
              <h3 class="part-title">{isFiltered ? "Jobs that match, newest first" : "All jobs, newest first"}</h3>
              <JobTable list={live.asked} jobs={view.jobs} allowsActions={about.allows_actions} />
              <StepsByNumber hasBefore={after !== ""} next={view.next} />
            </>
          )}
        </>
      )}
    </View>
  );
}

function summaryOf({ lanes }: JobsView): string {
  const ready = lanes.lanes.reduce((sum, lane) => sum + lane.ready, 0);
  const scheduled = lanes.scheduled === 0 ? "" : `, ${atLeast(lanes.scheduled)} scheduled`;
  return `${ofCap(lanes.running, lanes.cap)} running, ${atLeast(ready)} ready${scheduled}`;
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
