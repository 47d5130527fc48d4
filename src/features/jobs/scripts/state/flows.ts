/**
 * Flows: the jobs of one project, class and set of needs. A flow is `ready` while its first job could start, `parked` while
 * caps hold it back, `idle` while it has none: caps are states, not filters, so that picking never walks past jobs that
 * may not start. Whatever changes a project's counters or jobs calls `refresh`.
 *
 * Fairness is start-time fair queueing over projects: `vt` is the time a project was served, by its weight. The ready flow
 * with the least goes first. A project that was idle begins at the clock, so that it neither owes nor is owed anything.
 */
import type { Script } from "../../../../client/kernel.js";
import { express, one, rows, the } from "../query.js";

export interface Project {
  readonly project: string;
  readonly cap: number | null;
  readonly map_cap: number | null;
  readonly weight: number;
  readonly running: number;
  readonly map_running: number;
  readonly vt: number;
}

export interface Flow {
  readonly flow: number;
  readonly project: string;
  readonly class: string;
  readonly needs: string;
  readonly vt: number;
  readonly state: "ready" | "parked" | "idle";
}

/** The project with the caps that are in force for it: its own, else the ones for each project. */
export function* projectOf(project: string): Script<Project> {
  return yield* the<Project>(
    `SELECT project, weight, running, map_running, vt,
       coalesce(cap, (SELECT cap FROM job_gates WHERE name = 'each project')) AS cap,
       coalesce(map_cap, (SELECT cap FROM job_gates WHERE name = 'maps of each project')) AS map_cap
     FROM job_projects WHERE project = ?1`,
    project,
  );
}

export function hasRoom({ cap, running }: { readonly cap: number | null; readonly running: number }): boolean {
  return cap === null || running < cap;
}

export function hasRoomForMaps({ map_cap, map_running }: Project): boolean {
  return map_cap === null || map_running < map_cap;
}

/** The flow these jobs belong to, made when there is none yet. */
export function* flowFor(project: string, jobClass: string, needs: string): Script<Flow> {
  yield* rows("INSERT INTO job_projects VALUES (?1, NULL, NULL, 1, 0, 0, 0) ON CONFLICT DO NOTHING", project);
  yield* rows("INSERT INTO job_needs VALUES (?1) ON CONFLICT DO NOTHING", needs);
  const found = yield* one<Flow>(
    "SELECT * FROM job_flows WHERE project = ?1 AND class = ?2 AND needs = ?3",
    project,
    jobClass,
    needs,
  );
  if (found !== undefined) return found;
  return yield* the<Flow>(
    "INSERT INTO job_flows (project, class, needs, vt, state) VALUES (?1, ?2, ?3, 0, 'idle') RETURNING *",
    project,
    jobClass,
    needs,
  );
}

/** Brings the states of a project's flows in line with its counters and jobs. */
export function* refresh(name: string): Script<void> {
  if ((yield* express("job_refresh", { name })) !== undefined) return;
  const project = yield* projectOf(name);
  const flows = yield* rows<Flow>("SELECT * FROM job_flows WHERE project = ?1", name);
  const wasActive = project.running > 0 || flows.some((flow) => flow.state !== "idle");
  let { vt } = project;
  for (const flow of flows) {
    const plain = yield* hasJobs(flow.flow, 0);
    const maps = yield* hasJobs(flow.flow, 1);
    const canStart = hasRoom(project) && (plain || (maps && hasRoomForMaps(project)));
    const state = canStart ? "ready" : plain || maps ? "parked" : "idle";
    if (!wasActive && state !== "idle") vt = Math.max(vt, (yield* the<{ vt: number }>("SELECT vt FROM job_clock")).vt);
    if (state !== flow.state || vt !== flow.vt)
      yield* rows("UPDATE job_flows SET state = ?1, vt = ?2 WHERE flow = ?3", state, vt, flow.flow);
    if (state === "ready" && flow.state === "idle") yield { ask: "wake" };
  }
  if (vt !== project.vt) yield* rows("UPDATE job_projects SET vt = ?1 WHERE project = ?2", vt, name);
}

function* hasJobs(flow: number, isMap: 0 | 1): Script<boolean> {
  const sql = "SELECT 1 FROM jobs WHERE state = 'ready' AND flow = ?1 AND is_map = ?2 LIMIT 1";
  return (yield* one(sql, flow, isMap)) !== undefined;
}
