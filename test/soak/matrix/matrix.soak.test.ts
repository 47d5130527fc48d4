/** The whole matrix: every way in × every place × every name × both roles, against one reference. */
import { writeFileSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { CELLS, idOf, isRed, type Judged } from "../../fixtures/matrix/cell.fixture.js";
import { type Cell, reasonAgainst } from "../../fixtures/matrix/impossible.fixture.js";
import { linesOfCells, surpriseOf } from "../../fixtures/matrix/listed.fixture.js";
import { NAMES } from "../../fixtures/matrix/names.fixture.js";
import { isThere } from "../../fixtures/matrix/needs.fixture.js";
import { PLACES } from "../../fixtures/matrix/places.fixture.js";
import { WAYS } from "../../fixtures/matrix/ways.fixture.js";
import { closeWorld, closeWorlds, judgeIn } from "../../fixtures/matrix/worlds.fixture.js";
import { IS_SAMPLE, sample } from "../../fixtures/sample.fixture.js";

const ONE_OF = 8;
const results = new Map<Cell, Judged>();

afterAll(closeWorlds);

describe(`the matrix of ways in, places and names${sample(`${(WAYS.length * PLACES.length) / ONE_OF} of ${WAYS.length * PLACES.length} ways and places`)}`, () => {
  for (const [row, way] of WAYS.entries())
    for (const [column, place] of PLACES.entries()) {
      if (IS_SAMPLE && (row + column) % ONE_OF !== 0) continue;
      const cells = CELLS.filter((cell) => cell.way === way && cell.place === place && reasonAgainst(cell) === null);
      if (cells.length === 0) continue;
      const needs = place.needs.length === 0 ? "" : ` (needs ${place.needs.join(", ")})`;
      const title = `${way.name} ${place.name} and the library exclude each other in every name${needs}`;
      (place.needs.every(isThere) ? it.concurrent : it.skip)(title, async () => {
        for (const cell of cells) results.set(cell, await judgeIn(title, cell));
        await closeWorld(title);
        const surprises = cells.map((cell) => surpriseOf(cell, judgedOf(cell)));
        expect(surprises.filter((each) => each !== null)).toEqual([]);
      });
    }
});

function judgedOf(cell: Cell): Judged {
  return results.get(cell) ?? { verdict: "error", why: "not run" };
}

afterAll(() => {
  const rows: string[] = [];
  const axes = [
    ["way", WAYS.map(({ name }) => name), (cell: Cell) => cell.way.name],
    ["place", PLACES.map(({ name }) => name), (cell: Cell) => cell.place.name],
    ["name", NAMES, (cell: Cell) => cell.name],
  ] as const;
  for (const [axis, values, of] of axes) {
    rows.push(`${axis.padEnd(36)} green    red  impossible  not run`);
    for (const value of values)
      rows.push(
        row(
          value,
          CELLS.filter((cell) => of(cell) === value),
        ),
      );
  }
  rows.push(row("all", CELLS), "impossible");
  const reasons = CELLS.map(reasonAgainst).filter((reason) => reason !== null);
  for (const reason of new Set(reasons))
    rows.push(`${String(reasons.filter((each) => each === reason).length).padStart(6)} ${reason}`);
  const red = CELLS.filter((cell) => results.has(cell) && isRed(judgedOf(cell)));
  if (process.env.HOLDFAST_MATRIX_RED !== undefined)
    writeFileSync(
      process.env.HOLDFAST_MATRIX_RED,
      `${linesOfCells(red).join("\n")}\n${red.map((cell) => `// ${idOf(cell)}: ${judgedOf(cell).why.replaceAll("\n", " ")}`).join("\n")}\n`,
    );
  process.stdout.write(`${rows.join("\n")}\n`);
});

function row(value: string, cells: readonly Cell[]): string {
  const ran = cells.filter((cell) => results.has(cell));
  const red = ran.filter((cell) => isRed(judgedOf(cell))).length;
  const impossible = cells.filter((cell) => reasonAgainst(cell) !== null).length;
  const counts = [ran.length - red, red, impossible, cells.length - ran.length - impossible];
  return `${value.padEnd(36)} ${counts.map((count, at) => String(count).padStart([5, 6, 11, 8][at] ?? 0)).join(" ")}`;
}
