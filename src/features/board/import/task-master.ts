/**
 * Imports `tasks.json` of task-master: `{ "tasks": [...] }`, or one such object for each tag. Subtasks become issues of
 * their own, named `3.1`, which their parent depends on; a subtask's numbers mean its siblings.
 */
import { HoldfastError } from "../../../base/errors.js";
import { withoutByteOrderMark } from "../../../base/without-byte-order-mark.js";
import type { IssueState, Priority } from "../issue.js";
import type { SourcedDraft } from "./import.js";

interface Task {
  readonly id?: unknown;
  readonly title?: unknown;
  readonly description?: unknown;
  readonly details?: unknown;
  readonly testStrategy?: unknown;
  readonly status?: unknown;
  readonly priority?: unknown;
  readonly dependencies?: unknown;
  readonly subtasks?: unknown;
}

const STATES: Readonly<Record<string, IssueState>> = {
  pending: "ready",
  "in-progress": "ready",
  review: "gated",
  done: "done",
  completed: "done",
  deferred: "backlog",
  blocked: "backlog",
  cancelled: "rejected",
};
const PRIORITY: Readonly<Record<string, Priority>> = {
  critical: "critical",
  high: "high",
  medium: "normal",
  low: "low",
};

/** `E_INVALID_ARGUMENT` naming what is not as it should be. */
export function draftsOfTaskMaster(text: string): SourcedDraft[] {
  const file = parse(text);
  if (Array.isArray(file.tasks)) return file.tasks.flatMap((task: Task) => draftsOf(task, "", null));
  const tags = Object.entries(file).filter(([, value]) => Array.isArray((value as { tasks?: unknown } | null)?.tasks));
  if (tags.length === 0) throw wrong("there is no list of tasks in it");
  return tags.flatMap(([tag, value]) =>
    (value as { tasks: Task[] }).tasks.flatMap((task) => draftsOf(task, tags.length === 1 ? "" : `${tag}:`, tag)),
  );
}

function draftsOf(task: Task, before: string, tag: string | null): SourcedDraft[] {
  const id = idOf(task);
  const subtasks = (Array.isArray(task.subtasks) ? task.subtasks : []) as Task[];
  const children = subtasks.map((subtask) => {
    const key = `${before}${id}.${idOf(subtask)}`;
    const names = namesIn(subtask.dependencies).map((each) => before + (each.includes(".") ? each : `${id}.${each}`));
    return draftOf(subtask, key, names, tag);
  });
  const names = namesIn(task.dependencies).map((each) => before + each);
  return [draftOf(task, before + id, [...names, ...children.map(({ key }) => key)], tag), ...children];
}

function draftOf(task: Task, key: string, dependencies: readonly string[], tag: string | null): SourcedDraft {
  const status = textOf(task.status) || "pending";
  const parts = [textOf(task.description), textOf(task.details)];
  const testing = textOf(task.testStrategy);
  if (testing !== "") parts.push(`Test strategy: ${testing}`);
  const source = { source: "task-master", source_id: key, status, ...(tag === null ? {} : { tag }) };
  return {
    key,
    fields: {
      title: titleOf(task, key),
      description: parts.filter((part) => part !== "").join("\n\n"),
      state: STATES[status] ?? "ready",
      priority: PRIORITY[textOf(task.priority)] ?? "normal",
      dependencies,
      context: source,
    },
  };
}

function titleOf(task: Task, key: string): string {
  const title = textOf(task.title).replaceAll(/\s+/g, " ").trim();
  if (title === "") throw wrong(`task ${key} has no title`);
  return title.slice(0, 500);
}

function idOf(task: Task | null): string {
  const id = task?.id;
  if (typeof id !== "string" && typeof id !== "number") throw wrong("a task has no id");
  return String(id);
}

function namesIn(list: unknown): string[] {
  return Array.isArray(list) ? list.map(String) : [];
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function parse(text: string): Record<string, unknown> {
  try {
    const file: unknown = JSON.parse(withoutByteOrderMark(text));
    if (typeof file === "object" && file !== null) return file as Record<string, unknown>;
  } catch (cause) {
    throw wrong(`it is no JSON (${(cause as Error).message})`);
  }
  throw wrong("it is no object");
}

function wrong(why: string): HoldfastError {
  return new HoldfastError("E_INVALID_ARGUMENT", `file: not a tasks.json of task-master: ${why}`, {
    details: { field: "file" },
  });
}
