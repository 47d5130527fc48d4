/** The endpoint `board`: the issues, a column for each state. */

import { HoldfastError } from "../../../base/errors.js";
import { given } from "../../../base/given.js";
import { ISSUE_STATES } from "../../../features/board/issue.js";
import type { Query } from "../query.js";
import type { Sources } from "../sources.js";
import type { BoardView } from "../views.js";

const MOST_READ = 10_000;
const PER_COLUMN = 100;

export async function board({ board: reader }: Sources, query: Query): Promise<Omit<BoardView, "now">> {
  if (reader === null)
    throw new HoldfastError("E_CONFIG", "there is no workspace, and so no board", { reason: "no_workspace" });
  const [text, label] = [query.text("text"), query.text("label")];
  const { issues, next, unreadable } = await reader.list({
    limit: MOST_READ,
    sort: "priority",
    ...given({ text }),
    ...(label === undefined ? {} : { labels: [label] }),
  });
  const columns = ISSUE_STATES.map((state) => {
    const own = issues.filter((issue) => issue.state === state);
    return { state, issues: own.slice(0, PER_COLUMN), total: own.length };
  });
  return { columns, unreadable, is_all: next === null };
}
