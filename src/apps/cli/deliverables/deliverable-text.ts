/** Formats the locks of deliverable folders for people. */
import type { DeliverableRecord, DeliverableStatus, RecoveredLock } from "../../../deliverable.js";
import type { Screen } from "../output/screen.js";
import { columns } from "../output/text.js";
import { clockTime, secondsSince, span } from "../output/times.js";

const REASONS = {
  lease_expired: "its lease had expired",
  pid_dead: "its process is dead",
  corrupt: "its lock file was not a valid one of this folder",
} as const;

export function recoveredText({ recovery_reason, previous }: RecoveredLock): string {
  const whose =
    previous === null
      ? "a lock nobody can read"
      : `the lock of ${previous.holder} since ${clockTime(previous.acquired)}`;
  return `recovered ${whose}: ${REASONS[recovery_reason]}`;
}

export function untilText({ last_renewed_at, lease_duration_s, pid }: DeliverableRecord): string {
  const end = new Date(Date.parse(last_renewed_at) + lease_duration_s * 1000).toISOString();
  return `until ${clockTime(end)}${pid === null ? "" : `, or until process ${pid} ends`}`;
}

const COLOURS = { free: "green", held: "yellow", expired: "cyan", dead: "cyan", corrupt: "red" } as const;

export function statusText(status: DeliverableStatus, screen: Screen): string {
  const { state, lock, folder } = status;
  const rows: [string, string][] = [["folder", folder]];
  if (lock !== null)
    rows.push(
      ["holder", `${lock.holder} on ${lock.host}`],
      ["process", processText(status)],
      ["since", `${clockTime(lock.acquired)}, ${span(secondsSince(lock.acquired))} ago`],
      ["lease", leaseText(status)],
      ["fencing token", String(lock.fencing_token)],
    );
  const hint = hintFor(status);
  if (hint !== null) rows.push(["next", hint]);
  return `${screen.paint(COLOURS[state], state)} ${status.deliverable_id}\n${columns(rows, screen.width)}`;
}

function processText({ lock, life }: DeliverableStatus): string {
  if (lock?.pid == null) return "none: only the lease counts";
  return `${lock.pid}, ${life === "unknown" ? "not known whether it lives" : life}`;
}

function leaseText({ lease_remaining_s, lock }: DeliverableStatus): string {
  if (lease_remaining_s === 0) return "over";
  return `${span(lease_remaining_s)} left of ${span(lock?.lease_duration_s ?? 0)}`;
}

function hintFor({ state, copied, folder }: DeliverableStatus): string | null {
  if (state === "corrupt") return `make sure nobody works here, then: holdfast deliverable recover ${folder}`;
  if (state === "expired" || state === "dead") return `it is free for the taking: holdfast deliverable lock ${folder}`;
  if (copied) return `the lock came with a copy of another folder: holdfast deliverable recover ${folder}`;
  return null;
}
