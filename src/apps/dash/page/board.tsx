/** The view of the board: a column of issues for each state. */

import { count, number } from "../../../base/count-text.js";
import type { BoardView } from "../views.js";
import { useLive } from "./live.js";
import { Badge } from "./parts/badge.js";
import { SearchField } from "./parts/controls/search-field.js";
import { ShowMore, useLimit } from "./parts/controls/show-more.js";
import { Key } from "./parts/key.js";
import { Command, Empty } from "./parts/messages.js";
import { View } from "./parts/view.js";
import { hrefWith, queryOf, useRoute } from "./route.js";

type Column = BoardView["columns"][number];
type Issue = Column["issues"][number];

const CARDS = 50;
const CLOSED = ["done", "rejected"];

export function Board() {
  const { params } = useRoute();
  const text = params.get("text") ?? "";
  const label = params.get("label") ?? "";
  const live = useLive<BoardView>(`/api/board?${queryOf({ text, label })}`);
  return (
    <View
      title="Board"
      live={live}
      summary={foundText}
      search={{ what: queryOf({ text, label }), result: foundText }}
      filters={
        <>
          <SearchField label="Search" hint="words in title or description" param="text" isWide />
          <SearchField label="Label" param="label" />
        </>
      }
    >
      {(view) => (
        <>
          {view.unreadable.length > 0 && (
            <p class="notice">
              {count(view.unreadable.length, "issue")} cannot be read: {view.unreadable.slice(0, 5).join(", ")}. Run{" "}
              <code>holdfast doctor</code>.
            </p>
          )}
          {!view.is_all && <p class="notice">There are more issues than were read. Search to find the others.</p>}
          {totalOf(view) === 0 ? <NoIssues isFiltered={text !== "" || label !== ""} /> : <Columns view={view} />}
        </>
      )}
    </View>
  );
}

function foundText(view: BoardView): string {
  return count(totalOf(view), "issue");
}

function totalOf({ columns }: BoardView): number {
  return columns.reduce((sum, { total }) => sum + total, 0);
}

function Columns({ view }: { readonly view: BoardView }) {
  const closed = new Set(
    view.columns.flatMap(({ state, issues }) => (CLOSED.includes(state) ? issues.map(({ id }) => id) : [])),
  );
  return (
    <div class="board">
      {view.columns.map((column) => (
        <ColumnSection key={column.state} column={column} closed={closed} />
      ))}
    </div>
  );
}

function ColumnSection({ column, closed }: { readonly column: Column; readonly closed: ReadonlySet<string> }) {
  const { limit, more } = useLimit(CARDS);
  const { state, issues, total } = column;
  const id = `column-${state}`;
  return (
    <section class="column" aria-labelledby={id}>
      <h3 id={id}>
        {state.replaceAll("_", " ")} <span class="quiet">{number(total)}</span>
      </h3>
      {issues.length > 0 && (
        <ul>
          {issues.slice(0, limit).map((issue) => (
            <Card key={issue.id} issue={issue} closed={closed} />
          ))}
        </ul>
      )}
      <ShowMore hidden={issues.length - limit} onMore={more} what="" />
      {total > issues.length && limit >= issues.length && (
        <p class="quiet">and {number(total - issues.length)} more; search to find them</p>
      )}
    </section>
  );
}

const LOUD = { critical: "bad", high: "warn" } as const;

function Card({ issue, closed }: { readonly issue: Issue; readonly closed: ReadonlySet<string> }) {
  const isOpen = !CLOSED.includes(issue.state);
  const blockers = isOpen ? issue.dependencies.filter((id) => !closed.has(id)) : [];
  const gates = Object.entries(issue.gates).filter(([, status]) => isOpen && status !== "passed");
  const tone = issue.priority === "critical" || issue.priority === "high" ? LOUD[issue.priority] : null;
  return (
    <li class="card">
      <div class="card-head">
        <span class="key quiet">{issue.id}</span>
        {tone === null ? <span class="quiet">{issue.priority}</span> : <Badge text={issue.priority} tone={tone} />}
      </div>
      <p class="card-title">{issue.title}</p>
      {issue.labels.length > 0 && (
        <ul class="labels" aria-label="Labels">
          {issue.labels.map((label) => (
            <li key={label}>
              <a href={hrefWith({ label })}>{label}</a>
            </li>
          ))}
        </ul>
      )}
      {blockers.length > 0 && <p class="card-foot">blocked by {blockers.join(", ")}</p>}
      {gates.map(([name, status]) => (
        <p key={name} class="card-foot">
          gate {name} {status}
        </p>
      ))}
      {issue.assignee !== null && (
        <p class="card-foot">
          <Key>{issue.assignee}</Key>
        </p>
      )}
    </li>
  );
}

function NoIssues({ isFiltered }: { readonly isFiltered: boolean }) {
  if (isFiltered) return <Empty title="No issue matches." />;
  return (
    <Empty title="The board is empty.">
      <p>Make an issue, and let an agent take the next one:</p>
      <Command>{'holdfast issue add "Rename layers" --priority high'}</Command>
      <Command>holdfast issue next</Command>
    </Empty>
  );
}
