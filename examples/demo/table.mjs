/** The table of workers at any width: columns give way, the least important first, until the rest fits. */
import { fitted, styled } from "./text.mjs";

const COLUMNS = [
  { title: "worker", width: 6, align: "left", giveWay: 0, text: (row) => row.name },
  { title: "pid", width: 7, align: "right", giveWay: 5, text: (row) => String(row.pid) },
  { title: "state", width: 8, align: "left", giveWay: 1, text: (row) => row.state },
  { title: "file", width: 10, align: "left", giveWay: 6, text: (row) => row.file },
  { title: "updates", width: 7, align: "right", giveWay: 2, text: (row) => String(row.updates) },
  { title: "refused", width: 7, align: "right", giveWay: 3, text: (row) => String(row.refused) },
  { title: "takeovers", width: 9, align: "right", giveWay: 4, text: (row) => String(row.takeovers) },
  { title: "last event", width: 16, align: "left", giveWay: 7, text: (row) => row.last },
];

const STATE_STYLES = {
  starting: "dim",
  waiting: "dim",
  done: "dim",
  holding: "green",
  stopped: "yellow",
  killed: "red",
  refused: ["bold", "magenta"],
  crashed: ["bold", "red"],
};

/** The heading and one line per worker, each at most `width` characters. */
export function drawTable(board, width) {
  const columns = fitting(width);
  const heading = line(columns, (column) => column.title, width);
  const rows = [...board.rows.values()].map((row) =>
    styled(
      STATE_STYLES[row.state],
      line(columns, (column) => column.text(row), width),
    ),
  );
  return [styled("bold", heading), ...rows];
}

function fitting(width) {
  let columns = COLUMNS;
  while (columns.length > 1 && widthOf(columns) > width) {
    const [first] = [...columns].sort((a, b) => b.giveWay - a.giveWay);
    columns = columns.filter((column) => column !== first);
  }
  return columns;
}

function widthOf(columns) {
  return columns.reduce((sum, column) => sum + 1 + column.width, 0);
}

function line(columns, text, width) {
  return fitted(
    columns.map((column) => ` ${fitted(text(column), column.width, column.align)}`).join(""),
    width,
  ).trimEnd();
}
