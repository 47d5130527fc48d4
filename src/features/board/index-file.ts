/**
 * Defines `index.json`: one line for each issue, so that listing ten thousand reads one file. It is a picture of the
 * board as it was at event number `seq`; later events are in `events.jsonl` behind byte `events_bytes`, and a listing
 * reads both. So a change of one issue does not rewrite ten thousand lines: the picture is made anew after each change
 * on a small board, and after a share of the issues has changed on a large one.
 *
 * It can always be made again from the issues. A picture that is missing, torn or not of this log (git merged it, a power
 * cut took it) is not believed: then the issues themselves are read.
 */
import { readSync } from "node:fs";
import { join } from "node:path";
import { ifThere } from "../../files/if-there.js";
import { readText, replaceDocument } from "../documents/document-file.js";
import { entryBefore, readLog } from "../documents/log-file.js";
import { documentPath, logPath, privateFolder } from "../documents/names.js";
import type { BoardEvent } from "./events.js";
import type { GateState, GateStatus, Issue, IssueState, Priority } from "./issue.js";
import { isSummary } from "./issue-shape.js";

/** What a list shows of an issue. */
export interface IssueSummary {
  readonly id: string;
  readonly title: string;
  readonly state: IssueState;
  readonly priority: Priority;
  readonly labels: readonly string[];
  readonly assignee: string | null;
  readonly dependencies: readonly string[];
  readonly gates: Readonly<Record<string, GateStatus>>;
  readonly revision: number;
  readonly created_at: string;
  readonly updated_at: string;
}

const SCHEMA = 1;
const HEAD_BYTES = 200;
/** Up to here the picture is taken after every change. */
const SMALL = 100;
const SHARE = 8;

export function summaryOf(issue: Issue): IssueSummary {
  const { id, title, state, priority, labels, assignee, dependencies, revision, created_at, updated_at } = issue;
  const gates = statusesOf(issue.gates);
  return { id, title, state, priority, labels, assignee, dependencies, gates, revision, created_at, updated_at };
}

function statusesOf(gates: Readonly<Record<string, GateState>>): Record<string, GateStatus> {
  return Object.fromEntries(Object.entries(gates).map(([name, gate]) => [name, gate?.status]));
}

/** The issues by id, or null when the picture cannot be believed. Takes no lock. */
export function readIndex(dir: string): Map<string, IssueSummary> | null {
  const text = readText(documentPath(dir, "index"));
  if (text === null) return null;
  let picture: { schema_version: number; seq: number; events_bytes: number; issues: IssueSummary[] };
  try {
    picture = JSON.parse(text);
  } catch {
    return null;
  }
  if (picture?.schema_version !== SCHEMA || !Array.isArray(picture.issues)) return null;
  if (!(picture.events_bytes >= 0) || !isOfLog(dir, picture) || !picture.issues.every(isSummary)) return null;
  const issues = new Map(picture.issues.map((issue) => [issue.id, issue]));
  const since = readLog(logPath(dir, "events"), picture.events_bytes).entries as BoardEvent[];
  // mutant: board-index-tail: every((event) => follow(issues, event)) ? issues : null → length < 0 ? null : issues
  return since.every((event) => follow(issues, event)) ? issues : null;
}

/** What an event does to the picture; false when they do not fit together. */
function follow(issues: Map<string, IssueSummary>, { id, event, revision, at, changes }: BoardEvent): boolean {
  if (id === null) return true;
  const known = issues.get(id);
  if (typeof changes !== "object" || changes === null || (known === undefined && event !== "created")) return false;
  const now = <F extends keyof IssueSummary>(field: F): IssueSummary[F] =>
    (Object.hasOwn(changes, field) ? changes[field] : known?.[field]) as IssueSummary[F];
  const next = {
    id,
    title: now("title"),
    state: now("state"),
    priority: now("priority"),
    labels: now("labels"),
    assignee: now("assignee"),
    dependencies: now("dependencies"),
    gates: Object.hasOwn(changes, "gates")
      ? statusesOf((changes.gates ?? {}) as Record<string, GateState>)
      : (known?.gates ?? {}),
    revision,
    created_at: now("created_at"),
    updated_at: at,
  };
  issues.set(id, next);
  return isSummary(next);
}

/**
 * Whether it is time for a new picture, after the event with this number: also when the old one is not of this log any
 * more. Reads only the first line of it.
 */
export function isDue(dir: string, seq: number): boolean {
  const head = readHead(documentPath(dir, "index"));
  if (head === null || head.count <= SMALL || seq - head.seq >= head.count / SHARE) return true;
  return !isOfLog(dir, head);
}

function isOfLog(dir: string, picture: { readonly seq: number; readonly events_bytes: number }): boolean {
  return entryBefore(logPath(dir, "events"), picture.events_bytes)?.seq === picture.seq;
}

/** Takes a new picture, under the guard of the board. Not synced: it can be made again. */
export function writeIndex(dir: string, issues: Iterable<IssueSummary>, seq: number, eventsBytes: number): void {
  const sorted = [...issues].sort((one, other) => compareIds(one.id, other.id));
  const head = `"schema_version":${SCHEMA},"revision":${seq},"seq":${seq},"events_bytes":${eventsBytes},"count":${sorted.length}`;
  const lines = sorted.map((issue) => JSON.stringify(issue)).join(",\n");
  const path = documentPath(dir, "index");
  const fresh = join(privateFolder(dir), "index.new");
  replaceDocument(
    path,
    `{${head},"issues":[\n${lines}\n]}\n`,
    fresh,
    readHead(path) !== null || readText(path) !== null,
  );
}

/** 9 before 10, and names after numbers. */
export function compareIds(one: string, other: string): number {
  const [a, b] = [Number(one), Number(other)];
  if (Number.isInteger(a) && Number.isInteger(b)) return a - b;
  if (Number.isInteger(a) !== Number.isInteger(b)) return Number.isInteger(a) ? -1 : 1;
  return one < other ? -1 : one > other ? 1 : 0;
}

interface Head {
  readonly seq: number;
  readonly events_bytes: number;
  readonly count: number;
}

function readHead(path: string): Head | null {
  return ifThere(path, (fd) => {
    const bytes = Buffer.alloc(HEAD_BYTES);
    const text = bytes.toString("latin1", 0, readSync(fd, bytes, 0, HEAD_BYTES, 0));
    const found = /^\{"schema_version":1,"revision":\d+,"seq":(\d+),"events_bytes":(\d+),"count":(\d+),/.exec(text);
    if (found === null) return null;
    return { seq: Number(found[1]), events_bytes: Number(found[2]), count: Number(found[3]) };
  });
}
