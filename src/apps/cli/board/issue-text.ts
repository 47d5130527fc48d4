/** Formats issues and gates for people. */
import { shellWord } from "../../../base/shell-word.js";
import type { Gate, Issue, IssueSummary } from "../../../features/board/board.js";
import type { Outcome } from "../command.js";
import { type Column, grid } from "../output/grid.js";
import type { Screen } from "../output/screen.js";
import { columns } from "../output/text.js";
import { span } from "../output/times.js";

const ISSUES: readonly Column<IssueSummary>[] = [
  { title: "ID", cell: (issue) => issue.id, align: "right" },
  { title: "STATE", cell: (issue) => issue.state },
  { title: "PRIO", cell: (issue) => issue.priority, drop: 2 },
  { title: "TITLE", cell: (issue) => issue.title, least: 12, good: 36, isProse: true },
  { title: "LABELS", cell: (issue) => issue.labels.join(","), drop: 5, least: 6 },
  { title: "ASSIGNEE", cell: (issue) => issue.assignee ?? "", drop: 3, least: 8 },
  { title: "NEEDS", cell: needsOf, drop: 4, least: 6 },
];

function needsOf({ dependencies, gates }: IssueSummary): string {
  const open = Object.entries(gates).flatMap(([name, status]) => (status === "passed" ? [] : [`${name}?`]));
  return [...dependencies, ...open].join(" ");
}

/** How an assignee is typed. */
export function nobodyOr(assignee: string | undefined): string | null | undefined {
  return assignee === "none" ? null : assignee;
}

export function issueTable(issues: readonly IssueSummary[], screen: Screen): string {
  return grid(ISSUES, issues, screen);
}

/** Everything about one. */
export function issueText(issue: Issue, screen: Screen): string {
  const gates = Object.entries(issue.gates).map(
    ([name, { status, by, note }]) =>
      `${name} ${status}${by === null ? "" : ` by ${by}`}${note === null ? "" : ` (${note})`}`,
  );
  const rows: (readonly [string, string])[] = [
    ["state", issue.state],
    ["priority", issue.priority],
    ["assignee", issue.assignee ?? "nobody"],
    ...listed("claimed by", issue.claim === null ? [] : [`${issue.claim.owner} since ${issue.claim.since}`]),
    ...listed("labels", issue.labels),
    ...listed("depends on", issue.dependencies),
    ...gates.map((gate) => ["gate", gate] as const),
    ...listed("context", Object.keys(issue.context).length === 0 ? [] : [JSON.stringify(issue.context)]),
    ["revision", `${issue.revision}, ${issue.updated_at}`],
  ];
  const head = `${screen.paint("bold", `issue ${issue.id}`)}  ${issue.title}`;
  const description = issue.description === "" ? "" : `\n\n${issue.description}`;
  return `${head}\n${columns(rows, screen.width)}${description}`;
}

function listed(name: string, items: readonly string[]): (readonly [string, string])[] {
  return items.length === 0 ? [] : [[name, items.join(", ")]];
}

/** One line for people, the whole issue for programs. */
export function issueOutcome(verb: string, issue: Issue): Outcome {
  return {
    data: { issue },
    text: (screen) => `${screen.paint("green", verb)} issue ${issue.id}: ${issue.title} (${issue.state})`,
  };
}

const GATES: readonly Column<Gate>[] = [
  { title: "GATE", cell: (gate) => gate.name },
  { title: "KIND", cell: (gate) => gate.kind },
  { title: "LIMIT", cell: (gate) => (gate.command === null ? "" : span(gate.timeout_s)), align: "right", drop: 2 },
  { title: "COMMAND", cell: (gate) => gate.command?.map(shellWord).join(" ") ?? "", least: 12 },
  { title: "ABOUT", cell: (gate) => gate.description, drop: 3, least: 8, isProse: true },
];

export function gateTable(gates: readonly Gate[], screen: Screen): string {
  return grid(GATES, gates, screen);
}
