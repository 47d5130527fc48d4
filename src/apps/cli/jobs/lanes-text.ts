/** Formats lanes of jobs, one for each project: as a picture for a terminal, and as a line. */
import type { JobRecord, Lane, Lanes } from "../../../jobs.js";
import { type Column, grid } from "../output/grid.js";
import type { Screen } from "../output/screen.js";
import { cut } from "../output/text-width.js";
import { clockTime, secondsSince, span } from "../output/times.js";
import { NOT_HEARD_OF } from "./jobs.js";

/** Nothing is counted further than this: src/features/jobs/scripts/state/lanes.ts. */
const COUNTED = 1_000;
const INDENT = 2;

const RUNS: readonly Column<JobRecord>[] = [
  { title: "JOB", cell: ({ id }) => String(id), align: "right" },
  { title: "KIND", cell: ({ kind }) => kind, least: 8 },
  { title: "MAP", cell: ({ map }) => map ?? "", drop: 3, least: 6 },
  { title: "TRY", cell: (job) => `${job.attempts}/${job.max_attempts}`, align: "right", drop: 4 },
  { title: "FOR", cell: ({ started_at: at }) => (at === null ? "" : span(secondsSince(at))), align: "right" },
  { title: "PROGRESS", cell: progressOf, least: 8, drop: 2 },
];

function progressOf({ is_lapsed: isLapsed, progress }: JobRecord): string {
  if (isLapsed) return NOT_HEARD_OF;
  return progress === null ? "" : JSON.stringify(progress);
}

/** Runs of all projects stand in the same columns, each under its project. */
export function lanesPicture(all: Lanes, screen: Pick<Screen, "width" | "paint">): string[] {
  const { lanes, more } = all;
  const title = `${clockTime(new Date().toISOString())}  ${totals(all)} (Ctrl-C ends)`;
  const runs = lanes.flatMap((lane) => lane.runs);
  const [heading, ...lines] = grid(RUNS, runs, screen, INDENT).split("\n");
  const picture = [screen.paint("bold", cut(title, screen.width)), ""];
  if (lanes.length === 0) return [...picture, "nothing to do"];
  if (runs.length > 0) picture.push(heading ?? "");
  for (const lane of lanes)
    picture.push(paintedLane(lane, cut(laneText(lane), screen.width), screen), ...lines.splice(0, lane.runs.length));
  return more === 0 ? picture : [...picture, `and ${more} more projects`];
}

/** Without times, so that it changes only when something has. */
export function lanesLine(all: Lanes): string {
  return [totals(all), ...all.lanes.map((lane) => `${laneText(lane)}${numbers(lane.runs)}`)].join("; ");
}

function totals({ running, cap, scheduled, lanes }: Lanes): string {
  const ready = lanes.reduce((sum, lane) => sum + lane.ready, 0);
  return `${ofCap(running, cap)} running, ${atLeast(ready)} ready${scheduled === 0 ? "" : `, ${atLeast(scheduled)} scheduled`}`;
}

function laneText({ project, running, cap, ready, waiting, is_parked: isParked }: Lane): string {
  const parts = [
    `${ofCap(running, cap)} running`,
    `${atLeast(ready)} ready`,
    ...(waiting === 0 ? [] : [`${atLeast(waiting)} waiting for a lock`]),
    ...(isParked ? ["held back by a cap"] : []),
  ];
  return `${project}: ${parts.join(", ")}`;
}

function paintedLane({ project }: Lane, text: string, { paint }: Pick<Screen, "paint">): string {
  const name = text.slice(0, project.length);
  return `${paint("cyan", name)}${text.slice(name.length)}`;
}

function numbers(runs: readonly JobRecord[]): string {
  return runs.length === 0 ? "" : ` (${runs.map(({ id }) => id).join(" ")})`;
}

function ofCap(running: number, cap: number | null): string {
  return cap === null ? String(running) : `${running} of ${cap}`;
}

function atLeast(count: number): string {
  return count >= COUNTED ? `${count}+` : String(count);
}
