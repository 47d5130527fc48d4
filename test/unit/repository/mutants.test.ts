import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";

interface Mutant {
  readonly name: string;
  readonly file: string;
  readonly target?: number;
  readonly tests: { readonly files: readonly string[]; readonly pattern: string };
}

interface Marks {
  readonly mutants: readonly Mutant[];
  readonly troubles: readonly string[];
}

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const COUNT = "scripts/mutants/count.json";
const { readMarks, mutate }: { readMarks(root: string): Marks; mutate(text: string, mutant: Mutant): string } =
  await import(new URL("../../../scripts/mutants/marks.mjs", import.meta.url).href);

describe("the mutants of this repository", () => {
  const { mutants, troubles } = readMarks(ROOT);

  it("stand where their text is, once, and have marked tests that kill them", () => {
    expect(troubles).toEqual([]);
  });

  it("are as many as recorded", () => {
    const recorded: number = JSON.parse(readFileSync(join(ROOT, COUNT), "utf8")).mutants;
    const advice =
      mutants.length < recorded
        ? `mutants are gone: put them back, or lower the number in ${COUNT} and write the reason into the commit body`
        : `there are new mutants: raise the number in ${COUNT}`;
    expect(mutants.length, advice).toBe(recorded);
  });
});

describe("the marks of a tree", () => {
  let root = "";
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  function marksOf(files: Record<string, readonly string[]>): Marks {
    root = mkdtempSync(join(tmpdir(), "holdfast-marks-"));
    for (const [path, lines] of Object.entries({ "src/none.ts": [], "test/none.ts": [], ...files })) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), lines.join("\n"));
    }
    return readMarks(root);
  }

  /** Returns which of the titles the one mutant's pattern selects. */
  function selected({ mutants }: Marks, titles: readonly string[]): readonly string[] {
    return titles.filter((title) => new RegExp(mutants[0]?.tests.pattern ?? "none").test(title));
  }

  const guarded = ["// mutant: a: x > 0 → true", "if (x > 0) go();"];

  it("change the line below, also below other marks and below the head of a loop", () => {
    const lines = [
      "// mutant: a: x > 0 → true",
      "// mutant: b: go(x); →",
      "for (const x of all)",
      "  if (x > 0) go(x);",
    ];
    const { mutants, troubles } = marksOf({
      "src/a.ts": lines,
      "test/a.test.ts": ["// kills: a, b", 'it("goes", () => {});'],
    });
    expect(troubles).toEqual([]);
    const mutated = mutants.map((mutant) => mutate(lines.join("\n"), mutant).split("\n")[3]);
    expect(mutated).toEqual(["  if (true) go(x);", "  if (x > 0) "]);
  });

  it("name a test by the titles around it and its own", () => {
    const marks = marksOf({
      "src/a.ts": guarded,
      "test/a.test.ts": [
        "describe.each([",
        '  "(a)",',
        '])("a %s (store)", () => {',
        "  describe(",
        '    "inside",',
        "    () => {",
        "      // kills: a",
        "      it.skipIf(size() > 0)(`works %s, $n times (needs x)`, () => {});",
        "    },",
        "  );",
        "});",
      ],
    });
    const good = "a file (store) inside works twice, 2 times (needs x)";
    expect(marks.troubles).toEqual([]);
    expect(selected(marks, [good, `${good} more`, "a file (store) works twice, 2 times", "inside works"])).toEqual([
      good,
    ]);
  });

  it("choose a row by words of its title, and a suite with all that is in it", () => {
    const marks = marksOf({
      "src/a.ts": guarded,
      "test/a.test.ts": ["// kills: a (sqlite)", 'describe.each(STORES)("on %s", () => {', "});"],
    });
    expect(selected(marks, ["on sqlite x", "on file x", "on sqlite y"])).toEqual(["on sqlite x", "on sqlite y"]);
  });

  it("name the test file that runs a module with tests for several", () => {
    const chapter = ["export const chapter = {", "  // kills: a (memory)", '  async "it works"(bench) {', "  },", "};"];
    const marks = marksOf({
      "src/a.ts": guarded,
      "test/chapter.ts": chapter,
      "test/suite.ts": ['import { chapter } from "./chapter.js";'],
      "test/some/memory.test.ts": ['import { suite } from "../suite.js";'],
      "test/other/memory.test.ts": ['import { suite } from "../none.js";'],
      "test/some/file.test.ts": ['import { suite } from "../suite.js";'],
    });
    expect(marks.troubles).toEqual([]);
    expect(marks.mutants[0]?.tests.files).toEqual(["test/some/memory.test.ts"]);
    expect(selected(marks, ["contract: memory it works", "contract: memory it works not"])).toEqual([
      "contract: memory it works",
    ]);
  });

  it("stand in a list where no comment can hold them", () => {
    const list = [{ name: "a", file: "sql/a.sql", find: "select 1\nfrom", replace: "select 2\nfrom" }];
    const { mutants, troubles } = marksOf({
      "src/store/mutants.json": [JSON.stringify(list)],
      "src/store/sql/a.sql": ["select 1", "from t"],
      "test/a.test.ts": ["// kills: a", 'it("selects", () => {});'],
    });
    expect(troubles).toEqual([]);
    expect(mutants.map((mutant) => mutate("select 1\nfrom t", mutant))).toEqual(["select 2\nfrom t"]);
  });

  const killer = ["// kills: a", 'it("goes", () => {});'];
  it.each<[string, Record<string, readonly string[]>, string]>([
    [
      "text that is gone",
      { "src/a.ts": ["// mutant: a: x → y", "z();"], "test/a.test.ts": killer },
      "0 places match x",
    ],
    [
      "text that is there twice",
      { "src/a.ts": ["// mutant: a: x → y", "x(x);"], "test/a.test.ts": killer },
      "2 places",
    ],
    ["a mark without an arrow", { "src/a.ts": ["// mutant: a: x", "x();"] }, "not of the form"],
    ["a name that is there twice", { "src/a.ts": [...guarded, ...guarded], "test/a.test.ts": killer }, "two mutants a"],
    ["a mutant that no test kills", { "src/a.ts": guarded }, 'no test is marked "kills: a"'],
    ["a test that kills no mutant", { "test/a.test.ts": killer }, "there is no mutant a"],
    [
      "names that nothing separates",
      { "test/a.test.ts": ["// kills: a b", 'it("goes", () => {});'] },
      "not of the form",
    ],
    ["a module without the file that runs it", { "src/a.ts": guarded, "test/a.ts": killer }, "must name one test file"],
  ])("are refused with %s", (_, files, trouble) => {
    expect(marksOf(files).troubles.join("\n")).toContain(trouble);
  });
});
