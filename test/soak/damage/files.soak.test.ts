/**
 * Damages each file of a workspace in each way, and gives all commands there. HOLDFAST_SOAK=sample takes every 97th cell and
 * the commands that look at the file. HOLDFAST_DAMAGE=REGEX takes the cells whose title fits.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  cellsOf,
  damage,
  removeTemplate,
  type Template,
  templateOf,
  titleOf,
} from "../../fixtures/damage/sweep.fixture.js";
import { KINDS, useForEverything } from "../../fixtures/damage/used-workspace.fixture.js";
import { IS_SAMPLE, sample } from "../../fixtures/sample.fixture.js";

const EVERY = IS_SAMPLE ? 97 : 1;
const CHOSEN = new RegExp(process.env.HOLDFAST_DAMAGE ?? "");

describe.each(KINDS)(`a damaged file in a workspace on the %s store${sample(`every ${EVERY}th cell`)}`, (kind) => {
  let template: Template;
  beforeAll(async () => {
    template = await templateOf(kind, await useForEverything(kind));
  });
  afterAll(() => removeTemplate(template));

  it("is named or repaired by every command, and loses and grants nothing", async () => {
    const wrong: string[] = [];
    const cells = cellsOf(template, IS_SAMPLE ? 1 : 2, !IS_SAMPLE).filter((cell) => CHOSEN.test(titleOf(cell)));
    for (const [at, cell] of cells.entries()) {
      if (at % EVERY !== 0) continue;
      wrong.push(...(await damage(template, cell)).map((line) => `${titleOf(cell)}: ${line}`));
    }
    console.log("damaged files:", Math.ceil(cells.length / EVERY));
    expect(wrong).toEqual([]);
  });
});
