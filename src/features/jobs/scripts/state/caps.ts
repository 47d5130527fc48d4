/**
 * Reads and changes caps and weights, which are kept in the store so that all workers obey the same ones, and a change
 * takes effect at the next start.
 */
import type { Party, Script } from "../../../../client/kernel.js";
import { type Caps, GATES } from "../../cap-names.js";
import { rows, tell } from "../query.js";
import { type Project, projectOf, refresh } from "./flows.js";

export function* setCaps(caps: Caps, party: Party): Script<void> {
  // Said as undefined is not said.
  for (const [field, cap] of Object.entries(caps))
    if (cap !== undefined)
      yield* rows("UPDATE job_gates SET cap = ?1 WHERE name = ?2", cap, GATES[field as keyof Caps]);
  // A flow that has no room after all is parked again when it is picked.
  yield* rows("UPDATE job_flows SET state = 'ready' WHERE state = 'parked'");
  yield* tell(party, 0, null, { change: "caps set", ...caps });
}

export function* capsNow(): Script<Required<Caps>> {
  const gates = yield* rows<{ name: string; cap: number | null }>("SELECT name, cap FROM job_gates");
  const capOf = (name: string): number | null => gates.find((gate) => gate.name === name)?.cap ?? null;
  return {
    maxGlobalJobs: capOf(GATES.maxGlobalJobs),
    maxJobsPerProject: capOf(GATES.maxJobsPerProject),
    maxConcurrentMapJobsPerProject: capOf(GATES.maxConcurrentMapJobsPerProject),
    maxCpuJobs: capOf(GATES.maxCpuJobs),
    maxIoJobs: capOf(GATES.maxIoJobs),
  };
}

export interface ProjectSettings {
  readonly cap?: number | null;
  readonly mapCap?: number | null;
  readonly weight?: number;
}

export function* setProject(name: string, { cap, mapCap, weight }: ProjectSettings, party: Party): Script<Project> {
  yield* rows("INSERT INTO job_projects VALUES (?1, NULL, NULL, 1, 0, 0, 0) ON CONFLICT DO NOTHING", name);
  if (cap !== undefined) yield* rows("UPDATE job_projects SET cap = ?1 WHERE project = ?2", cap, name);
  if (mapCap !== undefined) yield* rows("UPDATE job_projects SET map_cap = ?1 WHERE project = ?2", mapCap, name);
  if (weight !== undefined) yield* rows("UPDATE job_projects SET weight = ?1 WHERE project = ?2", weight, name);
  yield* refresh(name);
  yield* tell(party, 0, null, { change: "project set", project: name, cap, map_cap: mapCap, weight });
  return yield* projectOf(name);
}
