/** Patterns of the shell in hook checks: what they match, and that no pattern takes more than a few steps a character. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { patchFiles } from "../../../src/agents/hooks/patch-files.js";
import { parseGlob } from "../../../src/agents/hooks/shell/glob.js";
import { shellIntent } from "../../../src/agents/hooks/shell/shell-intent.js";

const STARS = Array.from({ length: 8 }, (_, more) => more + 1);
/** Forty patterns that a matcher with backtracking tries in very many ways. */
const HARD: readonly string[] = STARS.flatMap((stars) => [
  `${"*a".repeat(stars)}b`,
  `${"*".repeat(stars * 10)}b`,
  `${"*?".repeat(stars)}b`,
  `${"*[ab]".repeat(stars)}c`,
  `${"a*".repeat(stars * 4)}[!a]`,
]);

describe("a pattern of the shell", () => {
  // kills: glob-star-empty, glob-quoted-bracket
  it.each([
    ["*", ["", "a", "ab"], []],
    ["a*b", ["ab", "axb", "abab"], ["a", "ba", "abx"]],
    ["**.ts", [".ts", "a.ts"], ["a.tsx"]],
    ["?.c", ["a.c", "é.c", "😀.c"], [".c", "ab.c"]],
    ["[a-c]x", ["ax", "cx", "[a-c]x"], ["dx", "-x", "x"]],
    ["[!a-c]x", ["dx", "-x", "[!a-c]x"], ["ax", "x"]],
    ["[^a]", ["b"], ["a"]],
    ["[]a]", ["]", "a"], ["b"]],
    ["[a-]", ["a", "-"], ["b"]],
    ["[[:digit:]]x", ["1x", "ax"], ["x", "11x"]],
    ["[a", ["[a"], ["a"]],
    ["a.b", ["a.b"], ["axb"]],
    ["(a|b)+$", ["(a|b)+$"], ["a", "ab"]],
  ] as const)("%s matches what the shell matches, and itself", (pattern, fitting, others) => {
    const glob = parseGlob(pattern);
    expect(fitting.filter((name) => !glob.matches(name))).toEqual([]);
    expect(others.filter((name) => glob.matches(name))).toEqual([]);
  });

  it.each(HARD)("%s takes at most two steps for each pair of characters", (pattern) => {
    for (const name of ["a".repeat(255), `${"a".repeat(253)}ba`]) {
      const glob = parseGlob(pattern);
      glob.matches(name);
      expect(glob.steps).toBeLessThanOrEqual(2 * (pattern.length + 1) * name.length);
    }
  });

  it("names at least the files that sh finds for it", () => {
    const dir = mkdtempSync(join(tmpdir(), "holdfast-glob-"));
    try {
      for (const name of ["a", "b", "ab", "aab", "abb", "a-b", "]", "[a]", "-", ".a", "a.b"])
        writeFileSync(join(dir, name), "");
      const piece = fc.constantFrom("a", "b", "*", "**", "?", "[ab]", "[!a]", "[]-]", "[a-b]", "-", ".", "]", "[");
      const found = fc.property(fc.array(piece, { minLength: 1, maxLength: 5 }), (pieces) => {
        const pattern = pieces.join("");
        const told = execFileSync("sh", ["-c", `printf '%s\\n' ./${pattern}`], { cwd: dir, encoding: "utf8" });
        const names = told
          .split("\n")
          .map((path) => path.slice(2))
          .filter((name) => readdirSync(dir).includes(name));
        expect(shellIntent(`rm ./${pattern}`, dir).files).toEqual(
          expect.arrayContaining(names.map((name) => join(dir, name))),
        );
      });
      fc.assert(found, { seed: 1, numRuns: 150 });
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });
});

describe("a long input of a hook", () => {
  it.each(["[", "cd x; ", "rm *a*a*a*b ", "`\\`", "$("])("%s, very often, is read to its end", (piece) => {
    const before = process.cpuUsage().user;
    shellIntent(`rm ${piece.repeat(10_000)} > x`, "/w");
    expect((process.cpuUsage().user - before) / 1e6).toBeLessThan(5);
  });

  it("a patch with very many blanks in a header is read to its end", () => {
    const name = `x${" ".repeat(200_000)}y`;
    expect(patchFiles(`*** Begin Patch\n*** Update File: ${name}  \n*** End Patch`)).toEqual([name]);
  });
});
