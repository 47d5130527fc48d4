/**
 * The types of the answers of `/api/…`, in the library's words where it has them. Every answer has `now`, the time of
 * this machine when the answer was made: the page counts down by it, whatever the browser's own clock shows.
 */

import type { ErrorCode } from "../../base/errors.js";
import type { ExplainedHolder, ExplainedWaiter } from "../../client/reading/explain.js";
import type { HeldRecord } from "../../client/reading/lock-status.js";
import type { IssuePage } from "../../features/board/board.js";
import type { SnapshotInfo } from "../../features/worktree/snapshot/descriptor.js";
import type { WorktreeInfo } from "../../features/worktree/worktrees.js";
import type { JobRecord, Lanes } from "../../jobs.js";
import type { AuditEntry } from "../../lock/audit.js";

/** `GET /api/about` */
export interface AboutView {
  readonly now: string;
  readonly version: string;
  /** The folder of the workspace; null when only a store was named. */
  readonly root: string | null;
  /** Without a password. */
  readonly store: string;
  /** Under whose name actions are done. */
  readonly owner: string;
  readonly allows_actions: boolean;
  /** What there is to look at: a file store has no jobs, a store without a workspace has no board and no snapshots. */
  readonly has: { readonly jobs: boolean; readonly board: boolean; readonly snapshots: boolean };
}

export type LockSort = "key" | "expires" | "waiting";

export type LockRow = HeldRecord & {
  /** How many stand in line for it, for something above it or below it. */
  readonly waiting: number;
};

/** `GET /api/locks?text=&sort=key|expires|waiting&page=1`: `text` is looked for in key, owner and holder. */
export interface LocksView {
  readonly now: string;
  readonly locks: readonly LockRow[];
  /** How many match, of how many that were read. */
  readonly matching: number;
  readonly read: number;
  /** How many of them have a lease that is over, and are there for whoever takes them. */
  readonly expired: number;
  /** False when more is held than was read. */
  readonly is_all: boolean;
  readonly page: number;
  readonly pages: number;
  /** How many stand in line, in the whole store. */
  readonly waiting: number;
}

/** `GET /api/lock?key=`: one key, who is around it, and the last that happened in its neighbourhood, newest first. */
export interface LockView {
  readonly now: string;
  readonly resource: string;
  readonly state: "free" | "held" | "expired";
  readonly profile: string;
  readonly fencing_token: number;
  readonly holders: readonly ExplainedHolder[];
  readonly line: readonly ExplainedWaiter[];
  readonly entries: readonly AuditEntry[];
}

/** `GET /api/waits`: everybody who stands in line, and the holders they wait for. */
export interface WaitsView {
  readonly now: string;
  readonly holders: readonly HeldRecord[];
  readonly waiters: readonly ExplainedWaiter[];
  /** Circles of waits, each in words. */
  readonly circles: readonly string[];
  /** False when more wait than were read. */
  readonly is_all: boolean;
}

export type HoldEnd = "released" | "recovered" | "stolen" | "broken" | "lapsed" | null;

/** One hold. `to` is null while it lasts; `ended` says how it ended. */
export interface HoldSpan {
  readonly lock_id: string;
  readonly owner: string;
  readonly mode: string;
  readonly fencing_token: number | null;
  readonly from: string;
  readonly to: string | null;
  readonly ended: HoldEnd;
}

/** `GET /api/timeline?minutes=15&text=`: who held what in the last minutes, the busiest keys first. */
export interface TimelineView {
  readonly now: string;
  readonly since: string;
  readonly rows: readonly { readonly resource: string; readonly spans: readonly HoldSpan[] }[];
  /** Keys that had holds and are not among the rows. */
  readonly more: number;
  /** False when there were more entries in that time than were read: then the picture begins later, at `since`. */
  readonly is_all: boolean;
}

/** `GET /api/audit?text=&event=&resource=&owner=&since=&limit=200`: newest first; `text` is looked for in all of an entry. */
export interface AuditView {
  readonly now: string;
  readonly entries: readonly AuditEntry[];
  /** There are older ones that match. */
  readonly has_more: boolean;
  /** How much of the record was searched, from 0 to 1: less than all while that goes on, and then there may be more. */
  readonly searched: number;
  /** The events there are. */
  readonly events: readonly string[];
}

/** `GET /api/jobs?project=&state=&after=`: lanes, and a page of jobs, newest first; `next` continues with `after`. */
export interface JobsView {
  readonly now: string;
  readonly lanes: Lanes;
  readonly jobs: readonly JobRecord[];
  readonly next: number | null;
  readonly states: readonly string[];
}

/** `GET /api/board?text=&label=`: a column for each state, in the order in which an issue goes through them. */
export interface BoardView {
  readonly now: string;
  readonly columns: readonly { readonly state: string; readonly issues: IssuePage["issues"]; readonly total: number }[];
  readonly unreadable: readonly string[];
  /** False when there are more issues than were read. */
  readonly is_all: boolean;
}

/** `GET /api/snapshots?worktree=`: newest first. */
export interface SnapshotsView {
  readonly now: string;
  readonly worktrees: readonly WorktreeInfo[];
  readonly snapshots: readonly SnapshotInfo[];
  readonly total: number;
}

/** What is refused, by any of them. */
export interface RefusalView {
  readonly error: { readonly code: ErrorCode; readonly message: string; readonly next: readonly string[] };
}

/**
 * `POST /api/actions/NAME` with `--allow-actions`. Each answers `{ now, done: "a sentence" }`, or a refusal.
 *   recover     { key }           end what is recoverable there
 *   break       { key, reason }   end what still looks alive
 *   job-cancel  { id }
 *   job-retry   { id }
 */
export interface DoneView {
  readonly now: string;
  readonly done: string;
}
