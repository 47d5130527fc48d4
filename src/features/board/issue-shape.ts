/** Checks whether the content of a file is an issue, or a registry of gates. People and git write these files too. */

import { isObject } from "../../base/is-object.js";
import { corruptDocument } from "../documents/document-file.js";
import { ISSUE_STATES, PRIORITIES } from "./issue.js";

type Check = (value: unknown) => boolean;
/** Fields by name, in the order in which they are looked at. */
type Checks = readonly (readonly [name: string, check: Check])[];

const isText: Check = (value) => typeof value === "string";
const isTextOrNull: Check = (value) => value === null || isText(value);
const isTexts: Check = (value) => Array.isArray(value) && value.every(isText);
const isOneOf =
  (allowed: readonly unknown[]): Check =>
  (value) =>
    allowed.includes(value);
const holds =
  (check: Check): Check =>
  (value) =>
    isObject(value) && Object.values(value).every(check);

const SHARED: Checks = [
  ["title", isText],
  ["state", isOneOf(ISSUE_STATES)],
  ["priority", isOneOf(PRIORITIES)],
  ["labels", isTexts],
  ["assignee", isTextOrNull],
  ["dependencies", isTexts],
  ["created_at", isText],
  ["updated_at", isText],
];
const ISSUE: Checks = [
  ...SHARED,
  ["description", isText],
  ["gates", holds((gate) => isObject(gate) && "status" in gate && isText(gate.status))],
  ["context", isObject],
  ["claim", (claim) => claim === null || isObject(claim)],
  ["created_by", isText],
];
const GATE: Checks = [
  ["name", isText],
  ["kind", isOneOf(["manual", "automatic"])],
  ["description", isText],
  ["command", (command) => command === null || isTexts(command)],
  ["timeout_s", Number.isFinite],
];
const SUMMARY: Checks = [...SHARED, ["id", isText], ["gates", holds(isText)], ["revision", Number.isSafeInteger]];

/** `E_STORE_CORRUPT` naming the first field that is missing or makes no sense; the file is left alone. */
export function requireIssue(value: object, path: string): void {
  const wrong = wrongInIssue(value);
  if (wrong !== null) throw corruptDocument(path, `${wrong} is missing or makes no sense`);
}

/** `E_STORE_CORRUPT` naming the gate and its first field that is missing or makes no sense; the file is left alone. */
export function requireGates({ gates }: { readonly gates?: unknown }, path: string): void {
  if (!isObject(gates)) throw corruptDocument(path, "gates is missing or makes no sense");
  for (const [name, gate] of Object.entries(gates)) {
    const wrong = isObject(gate) ? wrongField(gate, GATE) : "all of it";
    // mutant: board-gate-shape: if (wrong !== null) throw → if (wrong === "") throw
    if (wrong !== null) throw corruptDocument(path, `gate ${name}: ${wrong} is missing or makes no sense`);
  }
}

/** The first field that is missing or makes no sense, or null. */
export function wrongInIssue(value: object): string | null {
  return wrongField(value, ISSUE);
}

export function isSummary(value: unknown): boolean {
  return isObject(value) && wrongField(value, SUMMARY) === null;
}

function wrongField(value: object, checks: Checks): string | null {
  const fields = value as Readonly<Record<string, unknown>>;
  for (const [name, check] of checks) if (!check(fields[name])) return name;
  return null;
}
