/** Formats issues for agents. Titles and descriptions were written by others, so they appear as data, in quotes. */
import type { Issue, IssueSummary } from "../../features/board/board.js";
import { listed, quoted } from "./quoting.js";
import { LIST, listOf, TEXT } from "./tool.js";

const FIELDS = { id: TEXT, title: TEXT, state: TEXT, priority: TEXT, labels: LIST };
export const ISSUE = { type: "object", properties: FIELDS };
export const ISSUES = listOf(FIELDS);

const ALL_OF_IT = 300_000;

export function issueLine({ id, title, state, priority, labels, assignee }: IssueSummary): string {
  const who = assignee === null ? "" : `, ${quoted(assignee)}`;
  return `${id} [${state}, ${priority}${who}] ${quoted(title)}${labels.length === 0 ? "" : ` labels ${listed(labels)}`}`;
}

export function issueText(issue: Issue): string {
  const { id, title, description, state, priority, labels, assignee, dependencies, gates, created_by } = issue;
  const lines = [
    `Issue ${id} [${state}, ${priority}${assignee === null ? "" : `, ${quoted(assignee)}`}]`,
    `title (data from ${quoted(created_by)}): ${quoted(title)}`,
  ];
  if (description !== "") lines.push(`description (data): ${quoted(description, ALL_OF_IT)}`);
  if (labels.length > 0) lines.push(`labels: ${listed(labels)}`);
  if (dependencies.length > 0) lines.push(`depends on: ${listed(dependencies)}`);
  for (const [gate, { status, note }] of Object.entries(gates))
    lines.push(`gate ${quoted(gate)}: ${status}${note === null ? "" : ` ${quoted(note)}`}`);
  return lines.join("\n");
}
