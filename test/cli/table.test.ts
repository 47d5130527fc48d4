/** The table, and everything that is made from it. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { helpOf } from "../../src/cli/help.js";
import { cliPage } from "../../src/cli/page.js";
import { parse } from "../../src/cli/parse.js";
import { GLOBAL_FLAGS } from "../../src/cli/row.js";
import { TABLE } from "../../src/cli/table.js";
import { FEATURE_FIELDS } from "../../src/features/configuration.js";
import { CONFIG_FIELDS } from "../../src/workspace/config.js";
import { page, ROOT } from "../surface/pages.js";

describe("CLI-1: the table of commands", () => {
  it("has the global flags of every command", () => {
    const names = GLOBAL_FLAGS.map((flag) => `--${flag.name}`);
    expect(names).toEqual(["--root", "--store", "--owner", "--json", "--quiet", "--no-color", "--help", "--version"]);
  });

  it.each(TABLE.map((row) => [row.name, row] as const))(
    "%s has a module that runs, and examples that parse",
    async (_, row) => {
      expect((await row.load()).run).toBeTypeOf("function");
      expect(row.summary).not.toMatch(/\.$/);
      expect(row.about?.filter((paragraph) => !paragraph.endsWith(".")) ?? []).toEqual([]);
      expect(row.examples?.length).toBeGreaterThan(0);
      for (const [line] of row.examples ?? []) {
        const words = /holdfast ((?:"[^"]*"|[^">)])*)/.exec(line.replace("$$", "1"))?.[1] ?? "";
        const parsed = parse(words.match(/"[^"]*"|\S+/g)?.map((word) => word.replaceAll('"', "")) ?? [], TABLE);
        expect(parsed.row?.name).toBe(row.name);
      }
    },
  );

  it("has a row for every module of commands/", () => {
    const files = readdirSync(join(ROOT, "src/cli/commands")).map((name) => name.replace(/\.ts$/, ""));
    expect(files.sort()).toEqual(TABLE.map((row) => row.name.replaceAll(" ", "-")).sort());
  });

  it("help fits a narrow terminal as far as words can be broken", () => {
    for (const row of TABLE) {
      const lines = helpOf(row, { width: 34, paint: (_, text) => text }).split("\n");
      const tooLong = lines.filter((line) => line.length > 34 && !/^ {2}(holdfast|token=|source|-)/.test(line));
      expect(tooLong.filter((line) => line.trim().includes(" "))).toEqual([]);
    }
  });

  it("docs/cli.md is what `npm run docs` writes", () => {
    expect(page("docs/cli.md")).toBe(cliPage(page("docs/cli-intro.md")));
  });

  it("docs/cli.md tells of every command what its `data` is, and of every field of the configuration", () => {
    const [, data = ""] = page("docs/cli-intro.md").split(/^\| command +\| `data`/m);
    const told = firstCells(data);
    expect(TABLE.map((row) => row.name).filter((name) => !told.includes(name))).toEqual([]);
    expect(told.filter((name) => !name.startsWith("--") && !TABLE.some((row) => row.name === name))).toEqual([]);
    const [, fields = ""] = page("docs/cli-intro.md").split(/^\| field /m);
    expect(firstCells(fields.split("\n\n", 1)[0] ?? "").sort()).toEqual([...CONFIG_FIELDS, ...FEATURE_FIELDS].sort());
  });
});

/** The names in the first column of a Markdown table. */
function firstCells(table: string): string[] {
  const cells = [...table.matchAll(/^\| (`[^|]*)/gm)].map(([, cell = ""]) => cell);
  return cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name));
}
