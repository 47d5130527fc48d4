/** Defines `events.jsonl`: every change of the board, one line each, with a sequence number. */
import type { LogEntry } from "../documents/documents.js";
import type { Issue, IssueValue } from "./issue.js";

export const BOARD_EVENTS = [
  "created",
  "updated",
  "claimed",
  "released",
  "closed",
  "dependency_added",
  "dependency_removed",
  "gate_passed",
  "gate_failed",
  "gate_defined",
] as const;
export type BoardEventName = (typeof BOARD_EVENTS)[number];

export interface BoardEvent extends LogEntry {
  readonly at: string;
  readonly event: BoardEventName;
  /** The issue; null for `gate_defined`. */
  readonly id: string | null;
  readonly by: string;
  /** Of the issue, after the change. */
  readonly revision: number;
  /** The fields that changed, with their new values. For a new issue, all of them. */
  readonly changes: Readonly<Record<string, unknown>>;
}

/** Fields that differ, with their new values. `updated_at` stands in the event as `at`. */
function changesBetween(before: IssueValue | null, after: IssueValue): Record<string, unknown> {
  const changed = Object.entries(after).filter(
    ([field, value]) =>
      field !== "updated_at" &&
      field !== "id" &&
      JSON.stringify(value) !== JSON.stringify(before?.[field as keyof IssueValue]),
  );
  return Object.fromEntries(changed);
}

export function eventOf(
  event: BoardEventName,
  before: IssueValue | null,
  after: Issue,
  by: string,
): Omit<BoardEvent, "seq"> {
  const { revision, ...value } = after;
  return { at: after.updated_at, event, id: after.id, by, revision, changes: changesBetween(before, value) };
}
