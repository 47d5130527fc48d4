/** Defines an issue, and checks the fields that callers pass before anything is written. */

import { checkOptions, type OptionNames } from "../../base/check-options.js";
import { HoldfastError, invalidArgument } from "../../base/errors.js";
import { type Key, parseKey } from "../../lock/key.js";
import { ISSUE } from "../../lock/reserved-kinds.js";

export const ISSUE_STATES = ["backlog", "ready", "in_progress", "gated", "done", "rejected"] as const;
export type IssueState = (typeof ISSUE_STATES)[number];

export const PRIORITIES = ["critical", "high", "normal", "low"] as const;
export type Priority = (typeof PRIORITIES)[number];

export type GateStatus = "pending" | "passed" | "failed";

/** How an issue stands with one of its gates. */
export interface GateState {
  readonly status: GateStatus;
  readonly at: string | null;
  readonly by: string | null;
  readonly note: string | null;
}

/** Who works on it. The lease itself is in the lock store, under `issue:ID`. */
export interface Claim {
  readonly owner: string;
  readonly fencing_token: number;
  readonly since: string;
}

/** The fields of `issues/<id>.json`, beside `schema_version` and `revision`. */
export interface IssueValue {
  readonly id: string;
  readonly title: string;
  readonly description: string;
  readonly state: IssueState;
  readonly priority: Priority;
  readonly labels: readonly string[];
  readonly assignee: string | null;
  readonly dependencies: readonly string[];
  readonly gates: Readonly<Record<string, GateState>>;
  /** Whatever the caller wants to keep with it. */
  readonly context: Readonly<Record<string, unknown>>;
  readonly claim: Claim | null;
  readonly created_at: string;
  readonly created_by: string;
  readonly updated_at: string;
}

export interface Issue extends IssueValue {
  readonly revision: number;
}

/** What may be said of a new issue. */
export interface NewIssue {
  readonly title: string;
  readonly description?: string;
  /** Default `ready`. */
  readonly state?: IssueState;
  /** Default `normal`. */
  readonly priority?: Priority;
  readonly labels?: readonly string[];
  readonly assignee?: string | null;
  readonly dependencies?: readonly string[];
  /** Names of gates in the registry. */
  readonly gates?: readonly string[];
  readonly context?: Readonly<Record<string, unknown>>;
}

/** What may be changed of one. */
export interface IssuePatch extends Partial<Omit<NewIssue, "dependencies" | "gates">> {
  /** Put into the context, beside what is there already. */
  readonly addContext?: Readonly<Record<string, unknown>>;
  readonly addLabels?: readonly string[];
  readonly removeLabels?: readonly string[];
  readonly addGates?: readonly string[];
  readonly removeGates?: readonly string[];
}

const ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const LABEL = /^[^\s,][^,\n]{0,99}$/;
const GATE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const MAX_TITLE = 500;
const MAX_TEXT_BYTES = 256 * 1024;

/** `42` and `issue:42` mean the same. `E_INVALID_ARGUMENT`. */
export function parseIssueId(text: string, field = "id"): string {
  const id = typeof text === "string" && text.startsWith(ISSUE) ? text.slice(ISSUE.length) : text;
  if (typeof id !== "string" || !ID.test(id)) throw invalidArgument(field, `${JSON.stringify(text)} is no issue id`);
  return id;
}

/** The lock a claim takes. */
export function issueKey(id: string): Key {
  return parseKey(ISSUE + id);
}

export function parseGateName(name: string): string {
  if (typeof name !== "string" || !GATE_NAME.test(name))
    throw invalidArgument("gate", `${JSON.stringify(name)} is no name of a gate: letters, digits, . _ -`);
  return name;
}

/** Throws `E_INVALID_ARGUMENT` naming the first field that is not as it should be. */
export function checkFields(fields: NewIssue | IssuePatch): void {
  const { title, description, state, priority, assignee, context } = fields;
  const addContext = "addContext" in fields ? fields.addContext : undefined;
  if (title !== undefined) checkTitle(title);
  if (description !== undefined) checkText(description, "description");
  if (state !== undefined) oneOf(state, "state", ISSUE_STATES);
  if (priority !== undefined) oneOf(priority, "priority", PRIORITIES);
  if (assignee !== undefined && assignee !== null && (typeof assignee !== "string" || assignee.trim() === ""))
    throw invalidArgument("assignee", "a name, or null for nobody");
  if (context !== undefined) checkContext(context);
  if (addContext !== undefined) checkContext(addContext);
  for (const [field, list] of Object.entries(fields) as [string, unknown][])
    if (LISTS.has(field) && list !== undefined) checkList(field, list);
}

const FIELDS = {
  title: true,
  description: true,
  state: true,
  priority: true,
  labels: true,
  assignee: true,
  context: true,
};
export const NEW_ISSUE: OptionNames<NewIssue> = { ...FIELDS, dependencies: true, gates: true };
const PATCH: OptionNames<IssuePatch> = {
  ...FIELDS,
  addContext: true,
  addLabels: true,
  removeLabels: true,
  addGates: true,
  removeGates: true,
};

/** As `checkFields`; and nothing else may be said: what has a way of its own, such as dependencies, is not patched in. */
export function checkPatch(patch: IssuePatch): void {
  checkOptions(patch, PATCH, "patch");
  checkFields(patch);
}

const LISTS = new Set(["labels", "addLabels", "removeLabels", "dependencies", "gates", "addGates", "removeGates"]);

function checkTitle(title: string): void {
  if (typeof title !== "string" || title.trim() === "") throw invalidArgument("title", "some words");
  if (title.length > MAX_TITLE || /[\n\r]/.test(title))
    throw invalidArgument("title", `one line of at most ${MAX_TITLE} characters; the rest goes into the description`);
}

function checkText(text: string, field: string): void {
  if (typeof text !== "string") throw invalidArgument(field, "text");
  if (Buffer.byteLength(text) > MAX_TEXT_BYTES) throw invalidArgument(field, "at most 256 KiB");
}

export function checkContext(context: unknown): void {
  if (typeof context !== "object" || context === null || Array.isArray(context))
    throw invalidArgument("context", "an object of JSON values");
  checkText(JSON.stringify(context), "context");
}

function checkList(field: string, list: unknown): void {
  if (!Array.isArray(list)) throw invalidArgument(field, "a list");
  for (const each of list) {
    if (field === "dependencies") parseIssueId(each, field);
    else if (field.endsWith("ates")) parseGateName(each);
    else if (typeof each !== "string" || !LABEL.test(each))
      throw invalidArgument(field, `${JSON.stringify(each)} is no label: no commas, not empty, at most 100 characters`);
  }
}

export function oneOf<T extends string>(value: T, field: string, allowed: readonly T[]): T {
  if (!allowed.includes(value)) throw invalidArgument(field, `${String(value)} is none of ${allowed.join(", ")}`);
  return value;
}

/** Closed either way: nothing waits for it any more. */
export function isClosed({ state }: { readonly state: IssueState }): boolean {
  return state === "done" || state === "rejected";
}

export function notFound(what: "issue" | "gate", name: string): HoldfastError {
  return new HoldfastError("E_NOT_FOUND", `there is no ${what} ${name}`, {
    details: { [what]: name },
    next: [what === "issue" ? "holdfast issue list" : "holdfast gate list"],
  });
}
