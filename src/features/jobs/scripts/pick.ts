/**
 * Picks the next job: that of the highest priority, and of those the first, in the project with the least served time,
 * among the ready flows this worker can run. The number of seeks depends on how many sets of needs the worker meets,
 * not on how many jobs or projects wait.
 */
import type { Script } from "../../../client/kernel.js";
import { CLASSES } from "../model.js";
import { one, rows, the } from "./query.js";
import { type Flow, hasRoom, hasRoomForMaps, projectOf, refresh } from "./state/flows.js";
import type { JobRow } from "./state/job-row.js";

/** The job to start next, or null when none may. */
export function* pick(has: ReadonlySet<string>): Script<JobRow | null> {
  const gates = yield* rows<{ name: string; cap: number | null; running: number }>(
    "SELECT name, cap, running FROM job_gates WHERE name IN ('global', 'cpu', 'io')",
  );
  const isOpen = (name: string): boolean => gates.some((gate) => gate.name === name && hasRoom(gate));
  if (!isOpen("global")) return null;
  const all = yield* rows<{ needs: string }>("SELECT needs FROM job_needs");
  const isMet = (needs: string): boolean => (JSON.parse(needs) as string[]).every((need) => has.has(need));
  const mayRun: MayRun = {
    classes: CLASSES.filter(isOpen),
    needs: all.map(({ needs }) => needs).filter(isMet),
  };
  for (;;) {
    const flow = yield* leastServed(mayRun);
    if (flow === undefined) return null;
    const job = yield* firstIn(flow.project, mayRun);
    if (job !== null) {
      yield* rows("UPDATE job_clock SET vt = ?1 WHERE vt < ?1", flow.vt);
      return job;
    }
    // It has nothing that may start after all: its state is put right, and the next one looked for.
    yield* refresh(flow.project);
    const after = yield* the<Flow>("SELECT * FROM job_flows WHERE flow = ?1", flow.flow);
    if (after.state === "ready") throw new RangeError(`flow ${flow.flow} is ready and has nothing to start`);
  }
}

interface MayRun {
  readonly classes: readonly string[];
  readonly needs: readonly string[];
}

function* leastServed({ classes, needs: met }: MayRun): Script<Flow | undefined> {
  let least: Flow | undefined;
  for (const jobClass of classes)
    for (const needs of met) {
      const flow = yield* one<Flow>(
        "SELECT * FROM job_flows WHERE state = 'ready' AND class = ?1 AND needs = ?2 ORDER BY vt, flow LIMIT 1",
        jobClass,
        needs,
      );
      if (flow !== undefined && (least === undefined || isBefore(flow, least))) least = flow;
    }
  return least;
}

function isBefore(one: Flow, other: Flow): boolean {
  return one.vt < other.vt || (one.vt === other.vt && one.flow < other.flow);
}

/** Of all flows of a project, which were served for the same time. */
function* firstIn(name: string, { classes, needs }: MayRun): Script<JobRow | null> {
  const project = yield* projectOf(name);
  // mutant: job-cap: if (!hasRoom(project)) return null; →
  if (!hasRoom(project)) return null;
  const flows = yield* rows<Flow>("SELECT * FROM job_flows WHERE project = ?1 AND state = 'ready'", name);
  const kinds = hasRoomForMaps(project) ? [0, 1] : [0];
  let first: JobRow | null = null;
  for (const flow of flows) {
    if (!classes.includes(flow.class) || !needs.includes(flow.needs)) continue;
    for (const isMap of kinds) {
      const job = yield* one<JobRow>(
        "SELECT * FROM jobs WHERE state = 'ready' AND flow = ?1 AND is_map = ?2 ORDER BY priority DESC, job LIMIT 1",
        flow.flow,
        isMap,
      );
      // mutant: job-priority: null || goesBefore(job, first) → null && goesBefore(job, job) === false
      if (job !== undefined && (first === null || goesBefore(job, first))) first = job;
    }
  }
  return first;
}

function goesBefore(one: JobRow, other: JobRow): boolean {
  return one.priority > other.priority || (one.priority === other.priority && one.job < other.job);
}
