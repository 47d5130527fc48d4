import { describe, expect, it } from "vitest";

interface Source {
  without(text: string, kinds: readonly string[], sql?: boolean): string;
}

const SOURCE = new URL("../../../scripts/house/source.mjs", import.meta.url).href;

describe("the scanner of the measures", () => {
  it.each([
    ["a comment behind code", "a(); // b", "a();     "],
    ["a comment of several lines", "a /* b\nc */ d", "a     \n     d"],
    ["a string with comment marks", 'a("//", "/*");', 'a("//", "/*");'],
    [
      "a template with comment marks",
      "`// $" + "{a(`/* $" + "{b}`)} //`; // c",
      "`// $" + "{a(`/* $" + "{b}`)} //`;     ",
    ],
    ["a regular expression with quotes", `a(/["'/]\\/*/); // b`, `a(/["'/]\\/*/);     `],
    ["a division", "a / b; // c / d", "a / b;         "],
    ["an object in a template", "`$" + "{{ a: { b } }}`; /* c */", "`$" + "{{ a: { b } }}`;        "],
  ])("finds the comments beside %s", async (_, text, code) => {
    const { without }: Source = await import(SOURCE);
    expect(without(text, ["comment"])).toBe(code);
  });

  it("finds the comments of SQL beside strings with quotes", async () => {
    const { without }: Source = await import(SOURCE);
    expect(without("select 'it''s -- a' -- b", ["comment"], true)).toBe("select 'it''s -- a'     ");
  });
});
