/** Formats entries of the audit trail for people. */
import type { AuditEntry } from "../../../lock/audit.js";
import { type Column, grid } from "../output/grid.js";
import type { Screen } from "../output/screen.js";
import { clockTime } from "../output/times.js";

const ENTRIES: readonly Column<AuditEntry>[] = [
  { title: "AT", cell: timeOf },
  { title: "EVENT", cell: (entry) => entry.event },
  { title: "KEY", cell: (entry) => entry.resource, least: 8, good: 24 },
  { title: "OWNER", cell: (entry) => entry.owner, least: 8, good: 12, drop: 2 },
  { title: "FENCE", cell: (entry) => String(entry.fencing_token ?? ""), align: "right", drop: 4 },
  { title: "WHY", cell: why, least: 8, good: 16, drop: 3, isProse: true },
];

export function auditTable(
  entries: readonly AuditEntry[],
  screen: Pick<Screen, "width" | "paint">,
  indent = 0,
): string {
  return grid(ENTRIES, entries, screen, indent);
}

/** For streams: no columns to align with. */
export function auditLine(entry: AuditEntry): string {
  const reason = why(entry);
  const words = [timeOf(entry), entry.event.padEnd(8), entry.resource, entry.owner];
  return [...words, ...(reason === "" ? [] : [`(${reason})`])].join("  ");
}

/** A damaged entry has no time. */
function timeOf({ at, event }: AuditEntry): string {
  return event === "damaged" ? "?" : clockTime(at);
}

function why({ details }: AuditEntry): string {
  const previous = details.previous as { owner?: string } | undefined;
  const reason = typeof details.reason === "string" ? details.reason : "";
  return [reason, previous?.owner === undefined ? "" : `from ${previous.owner}`].filter(Boolean).join(", ");
}
