/**
 * Reports the running and waiting jobs, project by project. Every query has a bound, so that a report costs the same
 * however many jobs wait: beyond the bound a number is only known to be at least that.
 */
import type { Script } from "../../../../client/kernel.js";
import type { JobRecord } from "../../model.js";
import { rows } from "../query.js";
import { shown } from "../read-jobs.js";
import { type Flow, type Project, projectOf } from "./flows.js";
import type { JobRow } from "./job-row.js";

/** Nothing is counted further than this. */
const COUNTED = 1_000;
const MOST_RUNS = 500;
const MOST_LANES = 200;

/** One project that has something to do. */
export interface Lane {
  readonly project: string;
  /** Null is no limit. */
  readonly cap: number | null;
  readonly running: number;
  /** May start as soon as there is room; at most 1,000 are counted. */
  readonly ready: number;
  /** Stepped aside for a lock; at most 1,000 are counted, of all projects together. */
  readonly waiting: number;
  /** A cap of its own holds it back. */
  readonly is_parked: boolean;
  readonly runs: readonly JobRecord[];
}

export interface Lanes {
  readonly running: number;
  /** `maxGlobalJobs`. */
  readonly cap: number | null;
  /** Their time has not come; at most 1,000 are counted. */
  readonly scheduled: number;
  /** By name. At most 200. */
  readonly lanes: readonly Lane[];
  /** Projects that have something to do and are not among these. */
  readonly more: number;
}

/** With `only`, no lane but this. */
export function* lanesNow(only?: string): Script<Lanes> {
  const running = yield* rows<JobRow>(
    `SELECT jobs.* FROM job_slots JOIN jobs USING (job) ORDER BY jobs.job LIMIT ${MOST_RUNS}`,
  );
  const runs = yield* shown(running);
  const flows = yield* rows<Flow>("SELECT * FROM job_flows WHERE state <> 'idle'");
  const waiting = yield* rows<{ project: string; jobs: number }>(
    `SELECT project, count(*) AS jobs FROM (SELECT project FROM jobs WHERE state = 'waiting' LIMIT ${COUNTED}) AS bounded
     GROUP BY project`,
  );
  const busy = new Set([...running, ...flows, ...waiting].map(({ project }) => project));
  const names = [...busy].filter((project) => only === undefined || project === only).sort();
  const lanes: Lane[] = [];
  for (const name of names.slice(0, MOST_LANES)) {
    const own = flows.filter(({ project }) => project === name);
    lanes.push({
      ...shownProject(yield* projectOf(name)),
      ready: yield* readyIn(own),
      waiting: Number(waiting.find(({ project }) => project === name)?.jobs ?? 0),
      is_parked: own.length > 0 && own.every(({ state }) => state === "parked"),
      runs: runs.filter(({ project }) => project === name),
    });
  }
  const [all] = yield* rows<{ running: number; cap: number | null }>(
    "SELECT running, cap FROM job_gates WHERE name = 'global'",
  );
  return {
    running: all?.running ?? 0,
    cap: all?.cap ?? null,
    scheduled: yield* counted("state = 'scheduled'"),
    lanes,
    more: Math.max(0, names.length - MOST_LANES),
  };
}

function shownProject({ project, cap, running }: Project): Pick<Lane, "project" | "cap" | "running"> {
  return { project, cap, running };
}

function* readyIn(flows: readonly Flow[]): Script<number> {
  let ready = 0;
  for (const { flow } of flows) if (ready < COUNTED) ready += yield* counted("state = 'ready' AND flow = ?1", flow);
  return Math.min(ready, COUNTED);
}

function* counted(which: string, ...values: readonly unknown[]): Script<number> {
  const sql = `SELECT count(*) AS jobs FROM (SELECT 1 FROM jobs WHERE ${which} LIMIT ${COUNTED}) AS bounded`;
  return Number((yield* rows<{ jobs: number }>(sql, ...values))[0]?.jobs ?? 0);
}
