/**
 * Imports issues of beads: one JSON object a line. Of its links only `blocks` becomes a dependency; others are kept in
 * the context.
 */
import { HoldfastError } from "../../../base/errors.js";
import { type IssueState, PRIORITIES } from "../issue.js";
import type { SourcedDraft } from "./import.js";

interface Bead {
  readonly id?: unknown;
  readonly title?: unknown;
  readonly description?: unknown;
  readonly design?: unknown;
  readonly acceptance_criteria?: unknown;
  readonly notes?: unknown;
  readonly status?: unknown;
  readonly priority?: unknown;
  readonly issue_type?: unknown;
  readonly assignee?: unknown;
  readonly labels?: unknown;
  readonly dependencies?: unknown;
}

interface Link {
  readonly issue_id?: string;
  readonly depends_on_id: string;
  readonly type?: string;
}

const STATES: Readonly<Record<string, IssueState>> = {
  open: "ready",
  in_progress: "ready",
  blocked: "ready",
  deferred: "backlog",
  closed: "done",
};

/** `E_INVALID_ARGUMENT` naming the line. Deleted ones (tombstones) are left out. */
export function draftsOfBeads(text: string): SourcedDraft[] {
  const beads = text
    .split("\n")
    .map((line, at) => ({ line: line.trim(), at: at + 1 }))
    .filter(({ line }) => line !== "")
    .map(({ line, at }) => parseLine(line, at))
    .filter(({ status }) => status !== "tombstone");
  return beads.map(draftOf);
}

function draftOf(bead: Bead & { readonly id: string; readonly title: string }): SourcedDraft {
  const links = (Array.isArray(bead.dependencies) ? bead.dependencies : []).filter(isLink);
  const blocks = links.filter(({ type }) => (type ?? "blocks") === "blocks");
  const related = links
    .filter((link) => !blocks.includes(link))
    .map(({ type, depends_on_id }) => ({ type, id: depends_on_id }));
  const status = textOf(bead.status) || "open";
  const kind = textOf(bead.issue_type);
  const labels = (Array.isArray(bead.labels) ? bead.labels : []).map(String);
  return {
    key: bead.id,
    fields: {
      title: bead.title,
      description: describe(bead),
      state: STATES[status] ?? "ready",
      priority: priorityOf(bead.priority),
      labels: kind === "" || labels.includes(kind) ? labels : [...labels, kind],
      assignee: textOf(bead.assignee) || null,
      dependencies: blocks.map(({ depends_on_id }) => depends_on_id),
      context: { source: "beads", source_id: bead.id, status, ...(related.length === 0 ? {} : { related }) },
    },
  };
}

function isLink(link: unknown): link is Link {
  return typeof (link as Partial<Link> | null)?.depends_on_id === "string";
}

function describe(bead: Bead): string {
  const parts = [
    textOf(bead.description),
    titled("Design", bead.design),
    titled("Acceptance criteria", bead.acceptance_criteria),
    titled("Notes", bead.notes),
  ];
  return parts.filter((part) => part !== "").join("\n\n");
}

function titled(title: string, value: unknown): string {
  const text = textOf(value);
  return text === "" ? "" : `${title}:\n${text}`;
}

/** 0 is the most urgent, 4 the least; without one, 2. */
function priorityOf(value: unknown): (typeof PRIORITIES)[number] {
  const number = typeof value === "number" ? value : 2;
  return PRIORITIES[Math.min(Math.max(Math.round(number), 0), PRIORITIES.length - 1)] ?? "normal";
}

function parseLine(line: string, at: number): Bead & { readonly id: string; readonly title: string } {
  let bead: Bead;
  try {
    bead = JSON.parse(line) as Bead;
  } catch (cause) {
    throw wrong(at, `no JSON (${(cause as Error).message})`);
  }
  const title = textOf(bead?.title).replaceAll(/\s+/g, " ").trim().slice(0, 500);
  if (typeof bead?.id !== "string" || bead.id === "") throw wrong(at, "no id");
  if (title === "") throw wrong(at, "no title");
  return { ...bead, id: bead.id, title };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function wrong(line: number, why: string): HoldfastError {
  return new HoldfastError("E_INVALID_ARGUMENT", `file: line ${line} is no issue of beads: ${why}`, {
    details: { field: "file", line },
  });
}
