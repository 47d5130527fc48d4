/** Adds issues: one, or many as one step. */

import { HoldfastError } from "../../base/errors.js";
import type { Transaction } from "../documents/documents.js";
import type { BoardStore } from "./board-store.js";
import { requireAcyclic } from "./dependencies.js";
import { checkFields, type Issue, type IssueValue, type NewIssue, parseIssueId } from "./issue.js";
import { newGates } from "./rules.js";

/** The value of `board.json`. */
interface Counter {
  readonly last_id: number;
}

/** An issue to be made; `key` is how others of the same list name it in their dependencies. */
export interface Draft {
  readonly key?: string;
  readonly fields: NewIssue;
}

/** `E_NOT_FOUND` for a dependency or gate that is not there; nothing is made then. */
export async function create(board: BoardStore, fields: NewIssue): Promise<Issue> {
  const [issue] = await createAll(board, [{ fields }]);
  if (issue === undefined) throw new RangeError("one was to be made");
  return issue;
}

/** All of them or none, as one change. Ids are numbers in a row. */
async function createAll(board: BoardStore, drafts: readonly Draft[]): Promise<readonly Issue[]> {
  for (const { fields } of drafts) checkFields({ ...fields, dependencies: [] });
  return board.step((commit) =>
    commit(
      async (write) => write(),
      (tx) => makeAll(board, tx, drafts),
    ),
  );
}

export function makeAll(board: BoardStore, tx: Transaction, drafts: readonly Draft[]): readonly Issue[] {
  const ids = takeIds(board, tx, drafts.length);
  const named = new Map(drafts.flatMap(({ key }, at) => (key === undefined ? [] : [[key, ids[at] ?? ""] as const])));
  const wanted = drafts.map(({ fields }, at) =>
    [...new Set(fields.dependencies ?? [])].map((each) => {
      const id = named.get(each) ?? parseIssueId(each);
      // Before anything is made: an id that is only now given out is no issue to depend on.
      if (!named.has(each) && board.find(tx, id) === null) throw missing(ids[at] ?? "", id);
      return id;
    }),
  );
  const made = drafts.map(({ fields }, at) => {
    const dependencies = wanted[at] ?? [];
    return board.put(tx, null, newIssue(board, tx, ids[at] ?? "", { ...fields, dependencies }), "created");
  });
  if (named.size > 0) requireAcyclic(ids, (id) => board.find(tx, id)?.dependencies ?? null);
  return made;
}

function newIssue(board: BoardStore, tx: Transaction, id: string, fields: NewIssue): IssueValue {
  const now = board.now();
  return {
    id,
    title: fields.title,
    description: fields.description ?? "",
    state: fields.state ?? "ready",
    priority: fields.priority ?? "normal",
    labels: [...new Set(fields.labels ?? [])],
    assignee: fields.assignee ?? null,
    dependencies: fields.dependencies ?? [],
    gates: newGates(tx, fields.gates ?? []),
    context: fields.context ?? {},
    claim: null,
    created_at: now,
    created_by: board.owner,
    updated_at: now,
  };
}

/** Numbers in a row that no issue has. A merge may have brought issues the counter does not know of. */
function takeIds(board: BoardStore, tx: Transaction, count: number): string[] {
  let last = tx.get<Counter>("board")?.value.last_id ?? 0;
  const ids: string[] = [];
  while (ids.length < count) {
    last += 1;
    if (!board.isTaken(String(last))) ids.push(String(last));
  }
  tx.put("board", { last_id: last });
  return ids;
}

function missing(id: string, dependency: string): HoldfastError {
  return new HoldfastError("E_NOT_FOUND", `issue ${id} would depend on ${dependency}, and there is no such issue`, {
    details: { issue: dependency },
    next: ["holdfast issue list"],
  });
}
