/** Filters, sorts and pages through summaries of issues. Pure. */
import { checkOptions, type OptionNames } from "../../base/check-options.js";
import { invalidArgument } from "../../base/errors.js";
import type { IssueSummary } from "./index-file.js";
import { compareIds } from "./index-file.js";
import { ISSUE_STATES, type IssueState, isClosed, oneOf, PRIORITIES } from "./issue.js";

const ISSUE_SORTS = ["priority", "id", "created", "updated"] as const;
export type IssueSort = (typeof ISSUE_SORTS)[number];

/** Which issues, in which order. Without a state, those of every state. */
export interface IssueQuery {
  readonly state?: readonly IssueState[];
  /** All of them must be there. */
  readonly labels?: readonly string[];
  /** Null is nobody. */
  readonly assignee?: string | null;
  /** Only what can be begun now: ready, and everything it depends on closed. */
  readonly ready?: boolean;
  /** Words in the title or the description. */
  readonly text?: string;
  /** Default `id`; `priority` is the order of `next`. */
  readonly sort?: IssueSort;
  /** Default 100, at most 10,000. */
  readonly limit?: number;
  /** Goes on behind this issue of an earlier page. */
  readonly after?: string;
}

const QUERY: OptionNames<IssueQuery> = {
  state: true,
  labels: true,
  assignee: true,
  ready: true,
  text: true,
  sort: true,
  limit: true,
  after: true,
};

export interface IssuePage {
  readonly issues: readonly IssueSummary[];
  /** What to give as `after` for the next page; null on the last. */
  readonly next: string | null;
  /** How many there are in all. */
  readonly total: number;
  /** Issues, of whatever kind, that are on no page because their files cannot be read: a conflict of git, for example. */
  readonly unreadable: readonly string[];
}

export function checkQuery(query: IssueQuery): void {
  checkOptions(query, QUERY, "query");
  const { state = [], sort, limit, text } = query;
  for (const each of state) oneOf(each, "state", ISSUE_STATES);
  if (sort !== undefined) oneOf(sort, "sort", ISSUE_SORTS);
  if (limit !== undefined && (!Number.isInteger(limit) || limit < 1 || limit > 10_000))
    throw invalidArgument("limit", "a whole number from 1 to 10,000");
  if (text !== undefined && typeof text !== "string") throw invalidArgument("text", "words");
}

/** `hasText` is asked last, and only about issues that pass everything else. */
export function select(
  issues: ReadonlyMap<string, IssueSummary>,
  query: IssueQuery,
  hasText: (issue: IssueSummary) => boolean,
): Omit<IssuePage, "unreadable"> {
  const { state = [], labels = [], assignee, ready = false, limit = 100, after } = query;
  const order = orderBy(query.sort ?? "id");
  const chosen = [...issues.values()]
    .filter(
      (issue) =>
        (state.length === 0 || state.includes(issue.state)) &&
        labels.every((label) => issue.labels.includes(label)) &&
        (assignee === undefined || issue.assignee === assignee) &&
        (!ready || isReady(issue, issues)) &&
        hasText(issue),
    )
    .sort(order);
  const last = after === undefined ? null : requireIn(issues, after);
  const left = last === null ? chosen : chosen.filter((issue) => order(issue, last) > 0);
  const page = left.slice(0, limit);
  const next = limit < left.length ? (page.at(-1)?.id ?? null) : null;
  return { issues: page, next, total: chosen.length };
}

/** Where the last page ended. By now it may be one that this list would not show: its place is still there. */
function requireIn(issues: ReadonlyMap<string, IssueSummary>, after: string): IssueSummary {
  const last = issues.get(after);
  if (last === undefined) throw invalidArgument("after", `there is no issue ${after}`);
  return last;
}

/** State `ready`, and nothing it depends on is open. A dependency that does not exist (any more) counts as open. */
export function isReady(issue: IssueSummary, issues: ReadonlyMap<string, IssueSummary>): boolean {
  return issue.state === "ready" && dependsOnNothingOpen(issue, issues);
}

export function dependsOnNothingOpen(
  { dependencies }: Pick<IssueSummary, "dependencies">,
  issues: ReadonlyMap<string, IssueSummary>,
): boolean {
  return dependencies.every((id) => {
    const dependency = issues.get(id);
    return dependency !== undefined && isClosed(dependency);
  });
}

export function orderBy(sort: IssueSort): (one: IssueSummary, other: IssueSummary) => number {
  const byId = (one: IssueSummary, other: IssueSummary): number => compareIds(one.id, other.id);
  switch (sort) {
    case "id":
      return byId;
    case "created":
      return (one, other) => compareText(one.created_at, other.created_at) || byId(one, other);
    case "updated":
      return (one, other) => compareText(other.updated_at, one.updated_at) || byId(one, other);
    case "priority":
      return (one, other) => PRIORITIES.indexOf(one.priority) - PRIORITIES.indexOf(other.priority) || byId(one, other);
  }
}

function compareText(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
