/** Formats tables that fit the terminal: it leaves out columns, then shortens cells, before a line would break. */
import type { Screen } from "./screen.js";
import { cut, fitting, widthOf } from "./text-width.js";

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => string;
  readonly align?: "right";
  /** Left out when it gets narrow; the highest number first. Columns without one stay. */
  readonly drop?: number;
  /** May be shortened down to this many letters. */
  readonly least?: number;
  /** Columns that may be left out go before this one has fewer letters than this; default `least`. */
  readonly good?: number;
  /** Shortened at its end, as sentences are; else in the middle, since keys and names differ at both ends. */
  readonly isProse?: boolean;
}

const GAP = 2;

/** With a heading line. Empty text for no rows. */
export function grid<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  { width, paint }: Pick<Screen, "width" | "paint">,
  indent = 0,
): string {
  if (rows.length === 0) return "";
  const cells = new Map(columns.map((column) => [column, rows.map((row) => column.cell(row))]));
  const natural = (column: Column<Row>): number =>
    Math.max(column.title.length, ...(cells.get(column) ?? []).map(widthOf));
  const shown = chooseColumns(columns, natural, width - indent);
  const widths = shrink(shown, natural, width - indent);
  const line = (texts: readonly string[]): string =>
    (
      " ".repeat(indent) +
      texts
        .map((text, at) => {
          const room = widths[at] ?? 0;
          const short = shorten(text, room, shown[at]?.isProse === true);
          const rest = " ".repeat(Math.max(0, room - widthOf(short)));
          return shown[at]?.align === "right" ? rest + short : short + rest;
        })
        .join(" ".repeat(GAP))
    ).trimEnd();
  const heading = paint("dim", line(shown.map((column) => column.title)));
  return [heading, ...rows.map((_, at) => line(shown.map((column) => cells.get(column)?.[at] ?? "")))].join("\n");
}

type Natural<Row> = (column: Column<Row>) => number;

function chooseColumns<Row>(columns: readonly Column<Row>[], natural: Natural<Row>, width: number): Column<Row>[] {
  const shown = [...columns];
  const needed = (): number => shown.reduce((sum, column) => sum + Math.min(natural(column), good(column)) + GAP, -GAP);
  while (needed() > width) {
    const [last] = shown.filter((column) => column.drop !== undefined).sort((a, b) => (b.drop ?? 0) - (a.drop ?? 0));
    if (last === undefined) break;
    shown.splice(shown.indexOf(last), 1);
  }
  return shown;
}

/** The widest that may be shortened gives first, and no column more than is good before all have given that. */
function shrink<Row>(shown: readonly Column<Row>[], natural: Natural<Row>, width: number): number[] {
  const widths = shown.map(natural);
  const total = (): number => widths.reduce((sum, each) => sum + each + GAP, -GAP);
  for (const floor of [good, (column: Column<Row>) => column.least ?? Infinity]) {
    for (let over = total() - width; over > 0; over -= 1) {
      let widest = -1;
      for (const [at, column] of shown.entries()) {
        const canGive = (widths[at] ?? 0) > floor(column);
        if (canGive && (widths[at] ?? 0) > (widths[widest] ?? 0)) widest = at;
      }
      if (widest < 0) break;
      widths[widest] = (widths[widest] ?? 0) - 1;
    }
  }
  return widths;
}

/** Below this many letters it gets hard to read. */
function good<Row>(column: Column<Row>): number {
  return column.good ?? column.least ?? Infinity;
}

function shorten(text: string, room: number, isProse: boolean): string {
  if (isProse || room <= 2 || widthOf(text) <= room) return cut(text, room);
  const tail = fitting(text, Math.floor((room - 1) / 2), "end");
  return `${fitting(text, room - 1 - widthOf(tail))}…${tail}`;
}
