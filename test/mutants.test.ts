import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

interface Mutant {
  readonly name: string;
  readonly file: string;
  readonly find: string;
  readonly tests: { readonly files: readonly string[] };
}

const LIST = new URL("../scripts/mutants/list.mjs", import.meta.url).href;

describe("the list of mutants", () => {
  it("fits the source: what each takes out is there, once, and so are its tests", async () => {
    const { MUTANTS }: { MUTANTS: readonly Mutant[] } = await import(LIST);
    const unfit = MUTANTS.filter(
      ({ file, find, tests }) =>
        readFileSync(file, "utf8").split(find).length !== 2 || !tests.files.every((each) => existsSync(each)),
    );
    expect(unfit.map(({ name }) => name)).toEqual([]);
    expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length);
  });
});
