/** Formats jobs as text. Pure. */
import { number } from "../../../../base/count-text.js";
import { COMMANDS, unmetText } from "../../../../features/jobs/unmet-needs.js";
import type { JobsView } from "../../views.js";
import { clockTime } from "../time.js";

export type Job = JobsView["jobs"][number];

/** Nothing is counted further than this. */
const COUNTED = 1_000;

export function atLeast(value: number): string {
  return value >= COUNTED ? `${number(value)}+` : String(value);
}

export function ofCap(running: number, cap: number | null): string {
  return cap === null ? String(running) : `${running} of ${cap}`;
}

export function aboutJob(job: Job, nowMs: number): string {
  if (job.is_lapsed) return "worker not heard of; the next one takes it back";
  if (job.unmet_needs.length > 0) return unmetText(job.unmet_needs);
  if (job.cron !== null) return `${job.cron}, next at ${clockTime(job.run_at, nowMs)}`;
  if (job.state === "scheduled") return `not before ${clockTime(job.run_at, nowMs)}`;
  if (job.error !== null && job.state !== "running") return job.error.message;
  return job.progress === null ? "" : (progressOf(job.progress).text ?? "");
}

/** What else it needs, which somebody asked for. */
export function needsOf({ needs }: Job): readonly string[] {
  return needs.filter((label) => label !== COMMANDS);
}

export interface Progress {
  /** 0 to 1, where it can be told. */
  readonly share: number | null;
  readonly text: string | null;
}

/** A handler may say whatever it likes; a share of one, a percentage or so many of so many can be drawn. */
export function progressOf(progress: unknown): Progress {
  if (progress === null || progress === undefined) return { share: null, text: null };
  if (typeof progress === "string") return { share: null, text: progress };
  if (typeof progress === "number") {
    const isShare = progress >= 0 && progress <= 1;
    const isPercentage = !isShare && progress > 1 && progress <= 100;
    if (isShare || isPercentage) return drawn(isShare ? progress : progress / 100);
    return { share: null, text: String(progress) };
  }
  const { done, total, percent } = progress as Readonly<Record<string, unknown>>;
  if (isCount(done) && isCount(total) && total > 0)
    return { share: Math.min(1, done / total), text: `${done} of ${total}` };
  if (isCount(percent) && percent <= 100) return drawn(percent / 100);
  return { share: null, text: JSON.stringify(progress) };
}

function drawn(share: number): Progress {
  return { share, text: `${Math.round(share * 100)} %` };
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && value >= 0;
}
