/** The table, and everything that is made from it. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { GLOBAL_FLAGS, GROUPS } from "../../../src/apps/cli/command.js";
import { helpOf } from "../../../src/apps/cli/help.js";
import { parse } from "../../../src/apps/cli/input/parse.js";
import { cliPage } from "../../../src/apps/cli/reference-page.js";
import { TABLE } from "../../../src/apps/cli/table.js";
import { CONFIG_FIELDS } from "../../../src/client/workspace/config.js";
import { FEATURE_FIELDS } from "../../../src/features/configuration.js";
import { page, ROOT } from "../../fixtures/pages.fixture.js";

describe("CLI-1: the table of commands", () => {
  it("has the global flags of every command", () => {
    const names = Object.keys(GLOBAL_FLAGS).map((name) => `--${name}`);
    expect(names).toEqual(["--root", "--store", "--owner", "--json", "--quiet", "--no-color", "--help", "--version"]);
  });

  it.each(TABLE.map((row) => [row.name, row] as const))("%s runs, and its examples parse", (_, row) => {
    expect(row.run).toBeTypeOf("function");
    expect(row.summary).not.toMatch(/\.$/);
    expect(row.about?.filter((paragraph) => !paragraph.endsWith(".")) ?? []).toEqual([]);
    expect(row.examples?.length).toBeGreaterThan(0);
    for (const [line] of row.examples ?? []) {
      const words = /holdfast ((?:"[^"]*"|[^">)])*)/.exec(line.replace("$$", "1"))?.[1] ?? "";
      const parsed = parse(words.match(/"[^"]*"|\S+/g)?.map((word) => word.replaceAll('"', "")) ?? [], TABLE);
      expect(parsed.row?.name).toBe(row.name);
    }
  });

  it("has every command of every module in commands/, once", async () => {
    const found: string[] = [];
    for (const file of readdirSync(join(ROOT, "src/apps/cli/commands")).filter((each) => each.endsWith(".ts"))) {
      const module: Record<string, unknown> = await import(join(ROOT, "src/apps/cli/commands", file));
      for (const list of Object.values(module))
        if (Array.isArray(list)) found.push(...list.map(({ name }: { name: string }) => name));
    }
    expect(TABLE.map(({ name }) => name).sort()).toEqual(found.sort());
    expect(new Set(found).size).toBe(found.length);
  });

  it("names in every command a group of the help, and a flag or an argument only once", () => {
    for (const { group, args, flags } of TABLE) {
      expect(GROUPS).toContain(group);
      for (const name of Object.keys(args ?? {})) expect(name).toMatch(/^[A-Z]+$/);
      for (const name of Object.keys(flags ?? {})) expect(name).toMatch(/^[a-z]+(-[a-z]+)*$/);
    }
  });

  it("loads with the descriptions nothing that only the run of a command needs", () => {
    const files = readdirSync(join(ROOT, "src/apps/cli/commands")).filter((each) => each.endsWith(".ts"));
    const texts = files.map((file) => page(`src/apps/cli/commands/${file}`));
    const imports = texts.flatMap((text) => [...text.matchAll(/^import (?!type )[^;]*? from "([^"]*)";$/gm)]);
    const modules = new Set(imports.map(([, from = ""]) => from.split("/").at(-1)));
    const light = ["call.js", "command.js", "given.js", "mode.js", "node:path", "shared-specs.js"];
    expect([...modules].sort()).toEqual(light);
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
