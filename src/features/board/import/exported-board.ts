/**
 * Imports the output of `export` into a board: issues under their own ids, with gates and verdicts. Claims are leases
 * in a store of locks and are not imported; revisions start anew. Everything that is already there stays as it is, so
 * on its own board an export only brings back what was lost. An id that belongs to a different issue here is refused:
 * two boards are not merged.
 */

import { HoldfastError, invalidArgument, isHoldfastError } from "../../../base/errors.js";
import { isObject } from "../../../base/is-object.js";
import { withoutByteOrderMark } from "../../../base/without-byte-order-mark.js";
import type { Transaction } from "../../documents/documents.js";
import type { BoardStore } from "../board-store.js";
import { requireAcyclic } from "../dependencies.js";
import { EXPORT_SCHEMA } from "../export.js";
import { type Gate, makeGate } from "../gates/gate.js";
import { gatesIn } from "../gates/gate-files.js";
import { addGate } from "../gates/gate-steps.js";
import { checkFields, type Issue, type IssueValue, parseIssueId } from "../issue.js";
import { wrongInIssue } from "../issue-shape.js";
import { PENDING } from "../rules.js";
import type { Imported } from "./import.js";

interface Exported {
  readonly issues: readonly Issue[];
  readonly gates: readonly Gate[];
}

/** Whether a text is an export, whole or as the document of `--json`. */
export function isExport(text: string): boolean {
  try {
    return Array.isArray(contentOf(text)?.issues);
  } catch {
    return false;
  }
}

/** All in one step, or nothing. `E_INVALID_ARGUMENT`, `E_FORMAT_UNSUPPORTED`, `E_CYCLE`. */
export async function importBoard(board: BoardStore, text: string): Promise<Imported> {
  const exported = parseExport(text);
  return board.step(async (commit) => {
    const fresh: Issue[] = [];
    for (const issue of exported.issues) if (!(await isThere(board, issue))) fresh.push(issue);
    const issues = await commit(
      async (write) => write(),
      (tx) => bringBack(board, tx, fresh, exported.gates),
    );
    return { issues, skipped: exported.issues.length - fresh.length };
  });
}

/** `E_INVALID_ARGUMENT` when its id is another issue's. */
async function isThere(board: BoardStore, issue: Issue): Promise<boolean> {
  const here = await board.read(issue.id);
  // mutant: import-over-another: null) return false; → null || here.created_at !== issue.created_at) return false;
  if (here === null) return false;
  if (here.created_at === issue.created_at && here.created_by === issue.created_by) return true;
  throw invalidArgument(
    "file",
    `issue ${issue.id} is another one here (${JSON.stringify(here.title)}), and an export keeps its ids`,
    "Import it on a board that has none of its ids.",
  );
}

function bringBack(board: BoardStore, tx: Transaction, fresh: readonly Issue[], gates: readonly Gate[]): Issue[] {
  for (const gate of gates) if (!Object.hasOwn(gatesIn(tx), gate.name)) addGate(board, tx, gate);
  const here = gatesIn(tx);
  const isSame = (name: string): boolean => checkOf(here[name]) === checkOf(gates.find((gate) => gate.name === name));
  const ids = new Set(fresh.map(({ id }) => id));
  const isKnown = (id: string): boolean => ids.has(id) || board.isTaken(id);
  const issues = fresh.map((issue) => board.put(tx, null, asHere(issue, isSame, isKnown), "created"));
  requireAcyclic(ids, (id) => board.find(tx, id)?.dependencies ?? null);
  return issues;
}

/** What a gate checks: under another one of its name, a verdict says nothing. */
function checkOf(gate: Gate | undefined): string {
  return JSON.stringify([gate?.kind, gate?.command]);
}

function asHere(
  { revision: _, ...issue }: Issue,
  isSameGate: (name: string) => boolean,
  isKnown: (id: string) => boolean,
): IssueValue {
  const missing = issue.dependencies.filter((id) => !isKnown(id));
  // mutant: import-verdict-of-another: isSameGate(name) ? state : PENDING → isSameGate(name) || true ? state : PENDING
  const gates = Object.entries(issue.gates).map(([name, state]) => [name, isSameGate(name) ? state : PENDING]);
  return {
    ...issue,
    dependencies: issue.dependencies.filter(isKnown),
    gates: Object.fromEntries(gates),
    context: missing.length === 0 ? issue.context : { ...issue.context, missing_dependencies: missing },
    claim: null,
  };
}

function parseExport(text: string): Exported {
  const content = contentOf(text);
  const { schema_version: schema, issues, gates } = content ?? {};
  if (typeof schema === "number" && schema > EXPORT_SCHEMA)
    throw new HoldfastError("E_FORMAT_UNSUPPORTED", `file: it has schema version ${schema}, newer than this program's`);
  if (schema !== EXPORT_SCHEMA || !Array.isArray(issues) || !Array.isArray(gates))
    throw wrong("schema_version, issues or gates is missing");
  const ids = new Set<string>();
  for (const issue of issues) {
    checkIssue(issue);
    if (ids.has(issue.id)) throw wrong(`issue ${issue.id} is there twice`);
    ids.add(issue.id);
  }
  return { issues, gates: gates.map(checkedGate) };
}

function contentOf(text: string): Record<string, unknown> | null {
  let file: unknown;
  try {
    file = JSON.parse(withoutByteOrderMark(text));
  } catch (cause) {
    throw wrong(`it is no JSON (${(cause as Error).message})`);
  }
  if (!isObject(file)) return null;
  return ("data" in file && isObject(file.data) ? file.data : file) as Record<string, unknown>;
}

function checkIssue(issue: unknown): asserts issue is Issue {
  if (!isObject(issue)) throw wrong("an issue is no object");
  const { id, title, description, state, priority, labels, assignee, dependencies, gates, context } = issue as Issue;
  naming(`issue ${String(id)}`, () => {
    parseIssueId(id);
    const field = wrongInIssue(issue);
    if (field !== null) throw invalidArgument(field, "it is missing or makes no sense");
    const names = Object.keys(gates);
    checkFields({ title, description, state, priority, labels, assignee, dependencies, gates: names, context });
  });
}

function checkedGate(gate: unknown): Gate {
  if (!isObject(gate)) throw wrong("a gate is no object");
  const { name, description, command, timeout_s, created_at, created_by } = gate as Gate;
  return naming(`gate ${String(name)}`, () => {
    const wanted = { name, description, timeout: timeout_s * 1000, ...(command === null ? {} : { command }) };
    return makeGate(wanted, String(created_by), String(created_at));
  });
}

function naming<T>(what: string, check: () => T): T {
  try {
    return check();
  } catch (error) {
    throw isHoldfastError(error) ? wrong(`${what}: ${error.message}`) : error;
  }
}

function wrong(why: string): HoldfastError {
  return invalidArgument("file", `not an export of a board: ${why}`);
}
