// Rows of results as an aligned table.
//
// A row: `what` is measured, `ours` and `peer` as text, the `ratio` with its spread, and the `goal`, which
// is `{ atLeast }` or `{ atMost }` or null for a line that is only there to be looked at.

const NOT_A_FIGURE = /NaN|undefined|null|Infinity|∞/;
const HEAD = ["", "Holdfast", "peer", "result (middle half)", "goal", ""];

export function show(rows) {
  const lines = [HEAD, ...rows.map(cells)];
  const widths = HEAD.map((_, at) => Math.max(...lines.map((line) => line[at].length)));
  return lines.map((line) => `  ${line.map((cell, at) => cell.padEnd(widths[at])).join("  ")}`.trimEnd()).join("\n");
}

export function misses(rows) {
  return rows.filter((row) => row.goal !== null && !holds(row)).length;
}

/** Returns what is wrong with the rows of a line, in words: a row that is missing, or a value that is not a figure. */
export function faultsOf(rows) {
  if (rows.length === 0) return ["it gave no figures"];
  return rows.filter((row) => !isFigure(row)).map((row) => `not a figure: ${cellsOrError(row)}`);
}

function isFigure({ what, ours, peer, ratio, goal }) {
  const texts = [what, ours, peer];
  if (texts.some((text) => typeof text !== "string" || NOT_A_FIGURE.test(text))) return false;
  if (ratio === null) return goal === null && /\d/.test(ours);
  return [ratio.value, ratio.low, ratio.high].every(Number.isFinite);
}

function cellsOrError(row) {
  try {
    return cells(row).join(" | ");
  } catch (error) {
    return `${row?.what}: ${error.message}`;
  }
}

function cells(row) {
  const verdict = row.goal === null ? "" : holds(row) ? "holds" : "MISSED";
  return [row.what, row.ours, row.peer, ratioText(row), goalText(row), verdict];
}

function holds({ ratio, goal }) {
  return goal.atLeast === undefined ? ratio.value <= goal.atMost : ratio.value >= goal.atLeast;
}

function ratioText({ ratio, unit = "" }) {
  if (ratio === null) return "";
  if (ratio.low === ratio.high) return `${digits(ratio.value)}${unit}`;
  return `${digits(ratio.value)}${unit} (${digits(ratio.low)}–${digits(ratio.high)})`;
}

function goalText({ goal, unit = "" }) {
  if (goal === null) return "";
  return goal.atLeast === undefined ? `≤ ${goal.atMost}${unit}` : `≥ ${goal.atLeast}${unit}`;
}

export function digits(value) {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

export function perSecond(value) {
  return `${Math.round(value).toLocaleString("en-US")} /s`;
}

export function milliseconds(value) {
  return `${digits(value)} ms`;
}

export function microseconds(value) {
  return `${(value * 1000).toFixed(0)} µs`;
}
