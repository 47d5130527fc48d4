/** CLI-5: tables fit, and what matters most is shortened last. */
import { describe, expect, it } from "vitest";
import { type Column, grid } from "../../../src/apps/cli/output/grid.js";

interface Row {
  readonly key: string;
  readonly about: string;
  readonly number: string;
}

const COLUMNS: readonly Column<Row>[] = [
  { title: "KEY", cell: (row) => row.key, least: 10, good: 20 },
  { title: "ABOUT", cell: (row) => row.about, least: 6, isProse: true },
  { title: "NUMBER", cell: (row) => row.number, align: "right", drop: 1 },
];
const ROW: Row = { key: "project:alpha/map:one/sketch:9", about: "what it is about", number: "1794810788272" };

function lines(width: number, row = ROW): string[] {
  return grid(COLUMNS, [row], { width, paint: (_, text) => text }).split("\n");
}

describe("a table", () => {
  it("shows everything where there is room", () => {
    expect(lines(80)).toEqual([
      "KEY                             ABOUT                    NUMBER",
      "project:alpha/map:one/sketch:9  what it is about  1794810788272",
    ]);
  });

  it("leaves a column out before a key gets too short to tell it from others", () => {
    expect(lines(42)).toEqual(["KEY                       ABOUT", "project:alph…ne/sketch:9  what it is about"]);
  });

  it("shortens sentences at their end, and everything when it gets narrow", () => {
    expect(lines(20)).toEqual(["KEY           ABOUT", "projec…tch:9  what …"]);
    for (const width of [18, 19, 24, 30, 36])
      for (const line of lines(width)) expect(line.length).toBeLessThanOrEqual(width);
  });

  it("counts places of the line, not letters: wide ones take two and combining ones none", () => {
    const about = ["日本語のタイトル", "e\u0301te\u0301 👍", "plain"];
    const rows = about.map((text) => ({ ...ROW, about: text }));
    const table = (width: number) => grid(COLUMNS, rows, { width, paint: (_, text) => text }).split("\n");
    expect(table(80).slice(1)).toEqual([
      "project:alpha/map:one/sketch:9  日本語のタイトル  1794810788272",
      "project:alpha/map:one/sketch:9  e\u0301te\u0301 👍            1794810788272",
      "project:alpha/map:one/sketch:9  plain             1794810788272",
    ]);
    expect(table(22)[1]).toBe("project…etch:9  日本…");
    expect(lines(24, { ...ROW, key: "鍵".repeat(20) })[1]).toMatch(/^鍵+…鍵+ {2,3}what/);
  });
});
