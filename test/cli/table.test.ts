/** The table, and everything that is made from it. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { helpOf } from "../../src/cli/help.js";
import { cliPage } from "../../src/cli/page.js";
import { parse } from "../../src/cli/parse.js";
import { GLOBAL_FLAGS } from "../../src/cli/row.js";
import { TABLE } from "../../src/cli/table.js";
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

  it("docs/cli.md has every command, and each name of a `data` field is told", () => {
    const text = readFileSync(join(ROOT, "docs/cli.md"), "utf8");
    for (const row of TABLE) expect(text).toContain(`#### \`${row.name}\``);
  });
});
