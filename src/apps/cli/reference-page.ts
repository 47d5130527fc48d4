/** Writes docs/cli.md from the table of commands. `npm run docs` runs it, and a test compares the page. */
import { ERRORS } from "../../base/errors.js";
import { GROUPS } from "./command.js";
import { helpOf } from "./help.js";
import { TABLE } from "./table.js";

const WIDTH = 100;

/** `prose` is what stands between the title and the commands: written by hand, in docs/cli-intro.md. */
export function cliPage(prose: string): string {
  const plain = { width: WIDTH, paint: (_: string, text: string) => text };
  const parts = [prose.trim(), exitCodes(), "## Commands", index()];
  for (const group of GROUPS) {
    const rows = TABLE.filter((row) => row.group === group);
    if (rows.length === 0) continue;
    parts.push(`### ${group[0]?.toUpperCase()}${group.slice(1)}`);
    for (const row of rows)
      parts.push(`#### \`${row.name}\``, `\`\`\`text\n${withoutGlobals(helpOf(row, plain))}\n\`\`\``);
  }
  return `${parts.join("\n\n")}\n`;
}

/** A line of links for each group. */
function index(): string {
  const lines = GROUPS.map((group) => {
    const names = TABLE.filter((row) => row.group === group).map((row) => row.name);
    return `- ${group}: ${names.map((name) => `[\`${name}\`](#${name.replaceAll(" ", "-")})`).join(", ")}`;
  });
  return lines.join("\n");
}

/** Every command has them: they stand in the text above. */
function withoutGlobals(help: string): string {
  return help.replace(/\n\nflags of every command\n(?: .*\n?)+/, "\n").trimEnd();
}

function exitCodes(): string {
  const codes = new Map<number, string[]>();
  for (const [code, { exit }] of Object.entries(ERRORS)) codes.set(exit, [...(codes.get(exit) ?? []), `\`${code}\``]);
  const rows = [
    ["0", "done"],
    ["1", "`job wait`: the job failed or was cancelled"],
    ...[...codes].sort(([a], [b]) => a - b).map(([exit, names]) => [String(exit), names.join(", ")]),
    ["70", "a bug in holdfast: `E_INTERNAL`"],
    ["130, 143", "stopped by Ctrl-C or SIGTERM: `E_INTERRUPTED`"],
  ];
  return `## Exit codes\n\n${markdownTable([["code", "meaning"], ...rows])}`;
}

function markdownTable([heading = [], ...rows]: readonly (readonly string[])[]): string {
  const widths = heading.map((_, at) => Math.max(...[heading, ...rows].map((row) => row[at]?.length ?? 0)));
  const line = (cells: readonly string[], fill = " "): string =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0, fill)).join(" | ")} |`;
  const rule = line(
    heading.map(() => ""),
    "-",
  );
  return [line(heading), rule, ...rows.map((row) => line(row))].join("\n");
}
