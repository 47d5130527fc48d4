/** What must stand in a file to be taken for an issue. People and git write these files too. */
import { corruptDocument } from "../documents/document-file.js";
import { ISSUE_STATES, PRIORITIES } from "./issue.js";

type Checks = Readonly<Record<string, (value: unknown) => boolean>>;

const isText = (value: unknown): boolean => typeof value === "string";
const isTextOrNull = (value: unknown): boolean => value === null || isText(value);
const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);
const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isOneOf =
  (allowed: readonly string[]) =>
  (value: unknown): boolean =>
    allowed.some((each) => each === value);
const holds =
  (check: (value: unknown) => boolean) =>
  (value: unknown): boolean =>
    isObject(value) && Object.values(value).every(check);

const SHARED: Checks = {
  title: isText,
  state: isOneOf(ISSUE_STATES),
  priority: isOneOf(PRIORITIES),
  labels: isTexts,
  assignee: isTextOrNull,
  dependencies: isTexts,
  created_at: isText,
  updated_at: isText,
};
const ISSUE: Checks = {
  ...SHARED,
  description: isText,
  gates: holds((gate) => isObject(gate) && "status" in gate && isText(gate.status)),
  context: isObject,
  claim: (claim) => claim === null || isObject(claim),
  created_by: isText,
};
const SUMMARY: Checks = { ...SHARED, id: isText, gates: holds(isText), revision: Number.isSafeInteger };

/** `E_STORE_CORRUPT` naming the first field that is missing or makes no sense; the file is left alone. */
export function requireIssue(value: object, path: string): void {
  const wrong = wrongField(value, ISSUE);
  if (wrong !== null) throw corruptDocument(path, `${wrong} is missing or makes no sense`);
}

export function isSummary(value: unknown): boolean {
  return isObject(value) && wrongField(value, SUMMARY) === null;
}

function wrongField(value: object, checks: Checks): string | null {
  const fields = value as Readonly<Record<string, unknown>>;
  for (const name in checks) if (checks[name]?.(fields[name]) !== true) return name;
  return null;
}
