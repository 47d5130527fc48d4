/**
 * The rules of an issue's state: which change of state is allowed, and the fields that follow from it. They read inside
 * the step that calls them.
 */

import { HoldfastError } from "../../base/errors.js";
import type { Transaction } from "../documents/documents.js";
import type { BoardStore } from "./board-store.js";
import { gatesIn } from "./gates/gate-files.js";
import {
  checkContext,
  type GateState,
  type Issue,
  type IssuePatch,
  type IssueValue,
  isClosed,
  notFound,
} from "./issue.js";

export const PENDING: GateState = { status: "pending", at: null, by: null, note: null };

/** The issue with the patch applied. `E_GATE_BLOCKED` when that makes it done too early, `E_NOT_FOUND` for a gate. */
export function patched(board: BoardStore, tx: Transaction, issue: Issue, patch: IssuePatch): IssueValue {
  const { addContext, addLabels = [], removeLabels = [], addGates = [], removeGates = [], ...plain } = patch;
  const fields = Object.fromEntries(Object.entries(plain).filter(([, value]) => value !== undefined));
  const labels = (patch.labels ?? issue.labels).filter((label) => !removeLabels.includes(label));
  const kept = Object.entries(issue.gates).filter(([name]) => !removeGates.includes(name));
  const next: Issue = {
    ...issue,
    ...fields,
    // mutant: board-context-merge: (patch.context ?? issue.context), ...addContext → patch.context, ...addContext
    context: { ...(patch.context ?? issue.context), ...addContext },
    labels: [...new Set([...labels, ...addLabels])],
    gates: { ...newGates(tx, addGates), ...Object.fromEntries(kept) },
  };
  if (addContext !== undefined) checkContext(next.context);
  if (next.state === "done" && issue.state !== "done") requireOpenWay(board, tx, next);
  return isClosed(next) ? { ...next, claim: null } : next;
}

/** Gates as they stand on an issue that has just got them. */
export function newGates(tx: Transaction, names: readonly string[]): Record<string, GateState> {
  if (names.length === 0) return {};
  const known = gatesIn(tx);
  for (const name of names) if (!Object.hasOwn(known, name)) throw notFound("gate", name);
  return Object.fromEntries(names.map((name) => [name, PENDING]));
}

/** `E_GATE_BLOCKED`, listing what is in the way of `done`. */
function requireOpenWay(board: BoardStore, tx: Transaction, issue: IssueValue): void {
  const dependencies = issue.dependencies.filter((id) => {
    const dependency = board.find(tx, id);
    return dependency === null || !isClosed(dependency);
  });
  const gates = Object.entries(issue.gates).flatMap(([name, { status }]) =>
    status === "passed" ? [] : [{ gate: name, status }],
  );
  if (dependencies.length === 0 && gates.length === 0) return;
  const parts = [
    ...dependencies.map((id) => `issue ${id} is not closed`),
    ...gates.map(({ gate, status }) => `gate ${gate} is ${status}`),
  ];
  throw new HoldfastError("E_GATE_BLOCKED", `issue ${issue.id} cannot be done: ${parts.join(", ")}`, {
    details: { issue: issue.id, dependencies, gates },
    next: [
      ...dependencies.map((id) => `holdfast issue close ${id}`),
      ...gates.map(({ gate }) => stepTo(tx, issue.id, gate)),
    ],
  });
}

/** What to type for a gate that is not passed. */
function stepTo(tx: Transaction, id: string, gate: string): string {
  const isAutomatic = gatesIn(tx)[gate]?.kind === "automatic";
  return isAutomatic ? `holdfast gate run ${id} ${gate}` : `holdfast issue gate pass ${id} ${gate}`;
}
