/** Functions that the commands of jobs share: they open the jobs of the workspace and show a job. */

import { invalidArgument } from "../../../base/errors.js";
import { shellWord } from "../../../base/shell-word.js";
import type { JobSettings } from "../../../features/jobs/settings.js";
import { COMMANDS, unmetText } from "../../../features/jobs/unmet-needs.js";
import type { JobRecord, Jobs } from "../../../jobs.js";
import type { BaseContext, Outcome } from "../command.js";
import { type Column, grid } from "../output/grid.js";
import type { Screen } from "../output/screen.js";
import { columns } from "../output/text.js";
import { secondsSince, span } from "../output/times.js";

/** `E_CONFIG` where the store has none. */
export async function openTheJobs(context: BaseContext): Promise<Jobs> {
  const { openJobs } = await import("../../../jobs.js");
  return openJobs(await context.openHoldfast());
}

/** The same for reading only; null where there is no store yet. */
export async function readTheJobs(context: BaseContext): Promise<Jobs | null> {
  const { openJobs } = await import("../../../jobs.js");
  const holdfast = await context.openForReading();
  return holdfast === null ? null : openJobs(holdfast);
}

/** What the configuration says of jobs, into the store: from the next start on everybody goes by it. */
export async function writeSettings(jobs: Jobs, { keep, ...caps }: JobSettings): Promise<void> {
  await jobs.setCaps(caps);
  if (keep !== undefined) await jobs.setKeep(keep);
}

export function jobIdOf(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw invalidArgument("ID", `${JSON.stringify(text)} is no number of a job`);
  return Number(text);
}

/** One line for people, the whole job for programs. */
export function jobOutcome(verb: string, job: JobRecord): Outcome {
  return {
    data: { job },
    text: (screen) => `${screen.paint("green", verb)} job ${job.id}: ${job.kind} of ${job.project} (${job.state})`,
    notes: remarksOn(job),
  };
}

function remarksOn({ id, error, unmet_needs: unmet }: JobRecord): string[] {
  return [
    ...(error === null ? [] : [`job ${id}: ${error.message} (${error.code})`]),
    ...(unmet.length === 0 ? [] : [`job ${id}: ${unmetText(unmet)}`]),
  ];
}

/** Of a run that is lapsed. */
export const NOT_HEARD_OF = "worker not heard of";

const JOBS: readonly Column<JobRecord>[] = [
  { title: "ID", cell: (job) => String(job.id), align: "right" },
  { title: "STATE", cell: stateOf },
  { title: "PROJECT", cell: (job) => job.project, least: 8 },
  { title: "KIND", cell: (job) => job.kind, least: 8 },
  { title: "MAP", cell: (job) => job.map ?? "", drop: 4, least: 6 },
  { title: "TRIES", cell: (job) => `${job.attempts}/${job.max_attempts}`, align: "right", drop: 3 },
  { title: "ABOUT", cell: (job) => aboutOf(job) || job.unmet_needs.join(" "), drop: 2, least: 10, isProse: true },
];

function stateOf({ state, unmet_needs: unmet, is_lapsed: isLapsed }: JobRecord): string {
  if (isLapsed) return `${state}, ${NOT_HEARD_OF}`;
  return unmet.length > 0 ? `${state}, no worker for it` : state;
}

function aboutOf(job: JobRecord): string {
  if (job.cron !== null) return `${job.cron}, next ${job.run_at}`;
  if (job.error !== null && job.state !== "running") return job.error.message;
  return job.progress === null ? "" : JSON.stringify(job.progress);
}

export function jobTable(jobs: readonly JobRecord[], screen: Pick<Screen, "width" | "paint">): string {
  return grid(JOBS, jobs, screen);
}

/** How a job that is waited for gets on, in a line. */
export function jobProgress(job: JobRecord): string {
  const isRunning = job.state === "running";
  const runsFor = job.started_at === null ? "" : ` for ${span(secondsSince(job.started_at))}`;
  const since = isRunning ? `${runsFor}, try ${job.attempts} of ${job.max_attempts}` : "";
  const unmet = job.unmet_needs.length === 0 ? "" : unmetText(job.unmet_needs);
  const isSilent = isRunning && job.progress === null;
  const about = job.is_lapsed ? NOT_HEARD_OF : isSilent ? "" : aboutOf(job) || unmet;
  return `job ${job.id}: ${job.state}${since}${about === "" ? "" : `, ${about}`}`;
}

/** Everything about one. */
export function jobText(job: JobRecord, screen: Screen): string {
  const rows: (readonly [string, string])[] = [
    ["state", job.is_lapsed ? `${job.state}, but ${NOT_HEARD_OF}: the next worker takes it back` : job.state],
    ["project", job.map === null ? job.project : `${job.project}, map ${job.map}`],
    ["class", job.class],
    ...listed("times", job.cron === null ? [] : [`${job.cron} (${job.time_zone}), next ${job.run_at}`]),
    ...listed("schedule", job.schedule === null ? [] : [String(job.schedule)]),
    ...listed(
      "needs",
      job.needs.filter((label) => label !== COMMANDS),
    ),
    ...listed("not run", job.unmet_needs.length === 0 ? [] : [unmetText(job.unmet_needs)]),
    ...listed(
      "locks",
      job.locks.map(({ resource, mode }) => `${mode} ${resource}`),
    ),
    ...listed("command", job.command === null ? [] : [job.command.map(shellWord).join(" ")]),
    ["attempts", `${job.attempts} of ${job.max_attempts}`],
    ...listed("error", job.error === null ? [] : [`${job.error.message} (${job.error.code})`]),
    ...listed("progress", job.progress === null ? [] : [JSON.stringify(job.progress)]),
    ...listed("worker", job.worker === null ? [] : [job.worker]),
    ["added", job.created_at],
    ...listed("started", job.started_at === null ? [] : [job.started_at]),
    ...listed("ended", job.ended_at === null ? [] : [job.ended_at]),
  ];
  return `${screen.paint("bold", `job ${job.id}`)}  ${job.kind}\n${columns(rows, screen.width)}`;
}

function listed(name: string, items: readonly string[]): (readonly [string, string])[] {
  return items.length === 0 ? [] : [[name, items.join(", ")]];
}
