/**
 * Measures the house: `npm run house` prints every measure with its goal.
 *
 *   --json    the same as data
 *   --fast    without the measures that need a build, an installation or a process of the command line
 *   --write   also replaces the table in CONTRIBUTING.md, between its two marks
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { measureCalls } from "./house/calls.mjs";
import { measureInstalled } from "./house/installed.mjs";
import { measureDialect, measureLines } from "./house/lines.mjs";
import { measureGrantStatements, measureProtocols } from "./house/marks.mjs";
import { measureNouns } from "./house/nouns.mjs";

const PAGE = fileURLToPath(new URL("../CONTRIBUTING.md", import.meta.url));
const BEGIN = "<!-- house: written by `npm run house -- --write` -->";
const END = "<!-- /house -->";

const { values: options } = parseArgs({
  options: { json: { type: "boolean" }, fast: { type: "boolean" }, write: { type: "boolean" } },
});
if (options.fast && options.write) throw new Error("--write needs every measure: leave --fast out");

const measures = [...(options.fast ? [] : await calledMeasures()), ...sourceMeasures()];
if (!options.fast) measures.push(...installedMeasures());
console.log(options.json ? JSON.stringify(measures, null, 2) : asText(measures));
if (options.write) writeTable(measures);

/** A measure is `{ name, value, goal, met, detail }`. A goal is `{ atMost }`, `{ atLeast }` or null: then it is only shown. */
function measure(name, value, goal = null, detail = "", shown = number(value)) {
  const met = goal === null ? null : value <= (goal.atMost ?? value) && value >= (goal.atLeast ?? value);
  return { name, value, shown, goal, met, detail };
}

async function calledMeasures() {
  const { acquire, hook } = await measureCalls();
  const nouns = measureNouns(acquire.files);
  return [
    measure("files with a called function: lock acquire, again", acquire.files.length, { atMost: 75 }),
    measure("files with a called function: hook check of a write", hook.files.length, { atMost: 80 }),
    measure("moves from file to file in that acquire", acquire.moves),
    measure("private nouns in the files of that acquire", nouns.length, { atMost: 12 }, nouns.join(", ")),
  ];
}

function sourceMeasures() {
  const { statements, predicates } = measureGrantStatements();
  const protocols = measureProtocols();
  const { lines, codeLines, commentLines, longest, demo, contract } = measureLines();
  const share = (100 * commentLines) / lines;
  const dialect = measureDialect();
  const folders = Object.entries(dialect.folders).map(([folder, count]) => `${folder} ${number(count)}`);
  return [
    measure('statements of "may this be granted" in SQL', statements.length, { atMost: 1 }, statements.join(", ")),
    measure("predicates that short ways to a grant share", predicates.length, { atLeast: 1, atMost: 1 }),
    measure(
      "crash protocols for several file operations",
      protocols.length,
      { atLeast: 4, atMost: 4 },
      protocols.join(", "),
    ),
    measure("lines of src (ts, tsx, sql)", lines, { atMost: 54_000 }),
    measure("of these code lines", codeLines, { atMost: 43_000 }),
    measure("beside them: lines of the demo", demo),
    measure("beside them: lines of the contract suite", contract),
    measure("comment share of src", share, { atLeast: 9 }, "", `${share.toFixed(1)} %`),
    measure("longest file of src", longest.lines, { atMost: 400 }, longest.path),
    measure("lines in the old dialect", dialect.total, { atMost: 0 }, folders.join(", ")),
  ];
}

function installedMeasures() {
  const { megabytes, packages } = measureInstalled();
  return [
    measure("installed size in MB", megabytes, { atMost: 30 }, `Node ${process.versions.node}`),
    measure("installed packages", packages, { atMost: 4 }),
  ];
}

function asText(rows) {
  const cells = rows.map(({ name, shown, goal, met, detail }) => [name, shown, goalText(goal), verdict(met), detail]);
  const widths = [0, 1, 2, 3].map((column) => Math.max(...cells.map((row) => row[column].length)));
  return cells
    .map(([name, value, goal, met, detail]) =>
      [name.padEnd(widths[0]), value.padStart(widths[1]), goal.padEnd(widths[2]), met.padEnd(widths[3]), detail]
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

function goalText(goal) {
  if (goal === null) return "";
  if (goal.atLeast === undefined) return goal.atMost === 0 ? "0" : `≤ ${number(goal.atMost)}`;
  return goal.atLeast === goal.atMost ? number(goal.atLeast) : `≥ ${number(goal.atLeast)}`;
}

function verdict(met) {
  return met === null ? "" : met ? "met" : "not met";
}

function number(value) {
  return value.toLocaleString("en-US");
}

function writeTable(rows) {
  const page = readFileSync(PAGE, "utf8");
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`CONTRIBUTING.md lacks its marks ${BEGIN} and ${END}`);
  const lines = rows.map(
    ({ name, shown, goal, met }) => `| ${name} | ${shown} | ${goalText(goal)} | ${verdict(met)} |`,
  );
  const table = ["| measure | value | goal | |", "| --- | ---: | --- | --- |", ...lines].join("\n");
  writeFileSync(PAGE, `${page.slice(0, begin)}${BEGIN}\n\n${table}\n\n${page.slice(end)}`);
  const biome = fileURLToPath(new URL("../node_modules/@biomejs/biome/bin/biome", import.meta.url));
  execFileSync(process.execPath, [biome, "format", "--write", PAGE], { stdio: ["ignore", "ignore", "inherit"] });
}
