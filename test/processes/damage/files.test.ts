/** Forty cells of the sweep over damaged files; all of it is in test/soak/damage/files.soak.test.ts. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type Cell,
  cellsOf,
  classOf,
  damage,
  removeTemplate,
  type Template,
  templateOf,
  titleOf,
} from "../../fixtures/damage/sweep.fixture.js";
import { KINDS, useForEverything } from "../../fixtures/damage/used-workspace.fixture.js";

const CELLS = 20;
/** Cells in which something was wrong once. */
const KNOWN: readonly (readonly [file: RegExp, way: string])[] = [
  [/journal\/guard$/, "a link to nothing"],
  [/issues\/N\.json$/, "a link to nothing"],
  [/snapshots\/worktrees/, "a link to nothing"],
  [/caches\/main$/, "a folder"],
  [/below\/NODE\.json$/, "another of its kind"],
  [/below\/NODE\.json$/, "a link to nothing"],
  [/tree\.json$/, "another of its kind"],
  [/manifests\/HASH\/ID\.json$/, "an empty object"],
  [/holdfast\.db$/, "empty"],
  [/\.holdfast\/workspace\.json$/, "a link to nothing"],
];

const isKnown = (cell: Cell): boolean =>
  cell.variant === 0 && KNOWN.some(([file, way]) => way === cell.way && file.test(classOf(cell.file)));

describe.each(KINDS)("a damaged file in a workspace on the %s store", (kind) => {
  let template: Template;
  beforeAll(async () => {
    template = await templateOf(kind, await useForEverything(kind));
  });
  afterAll(() => removeTemplate(template));

  it("is named or repaired by every command, and loses and grants nothing", async () => {
    const all = cellsOf(template, 1, false);
    const known = all.filter(isKnown);
    const step = Math.floor(all.length / (CELLS - known.length));
    const others = all.filter((cell, at) => at % step === step - 1 && !isKnown(cell));
    const wrong: string[] = [];
    for (const cell of [...known, ...others])
      wrong.push(...(await damage(template, cell)).map((line) => `${titleOf(cell)}: ${line}`));
    expect(wrong).toEqual([]);
  });
});
