/**
 * Which job is next: the ready flow with the least served time among those this worker can run, and its first job. The
 * number of seeks depends on how many sets of needs the worker meets, not on how many jobs or projects wait.
 */
import type { Script } from "../../store/contract.js";
import { CLASSES } from "../model.js";
import { one, rows, the } from "./ask.js";
import { type Flow, hasRoom, hasRoomForMaps, projectOf, refresh } from "./flows.js";
import type { JobRow } from "./job-row.js";

/** The job to start next, or null when none may. */
export function* pick(has: ReadonlySet<string>): Script<JobRow | null> {
  const gates = yield* rows<{ name: string; cap: number | null; running: number }>(
    "SELECT name, cap, running FROM job_gates WHERE name IN ('global', 'cpu', 'io')",
  );
  const isOpen = (name: string): boolean => gates.some((gate) => gate.name === name && hasRoom(gate));
  if (!isOpen("global")) return null;
  const all = yield* rows<{ needs: string }>("SELECT needs FROM job_needs");
  const met = all.filter(({ needs }) => (JSON.parse(needs) as string[]).every((need) => has.has(need)));
  for (;;) {
    const flow = yield* leastServed(
      CLASSES.filter(isOpen),
      met.map(({ needs }) => needs),
    );
    if (flow === undefined) return null;
    const job = yield* firstOf(flow);
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

function* leastServed(classes: readonly string[], met: readonly string[]): Script<Flow | undefined> {
  let least: Flow | undefined;
  for (const jobClass of classes)
    for (const needs of met) {
      const flow = yield* one<Flow>(
        "SELECT * FROM job_flows WHERE state = 'ready' AND class = ?1 AND needs = ?2 ORDER BY vt, flow LIMIT 1",
        jobClass,
        needs,
      );
      if (flow !== undefined && (least === undefined || flow.vt < least.vt)) least = flow;
    }
  return least;
}

function* firstOf({ flow, project: name }: Flow): Script<JobRow | null> {
  const project = yield* projectOf(name);
  if (!hasRoom(project)) return null;
  const sql =
    "SELECT * FROM jobs WHERE state = 'ready' AND flow = ?1 AND is_map = ?2 ORDER BY priority DESC, job LIMIT 1";
  const plain = yield* one<JobRow>(sql, flow, 0);
  const map = hasRoomForMaps(project) ? yield* one<JobRow>(sql, flow, 1) : undefined;
  if (plain === undefined || map === undefined) return plain ?? map ?? null;
  const isMapFirst = map.priority > plain.priority || (map.priority === plain.priority && map.job < plain.job);
  return isMapFirst ? map : plain;
}
