import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { linesOfSamples, linesOfSkipped, type Outcome } from "../../fixtures/not-run.fixture.js";

const TESTS = fileURLToPath(new URL("../..", import.meta.url));

function outcome(file: string, titles: readonly string[], change: Partial<Outcome> = {}): Outcome {
  return { file, titles, isSkipped: true, ...change };
}

describe("the end of a run", () => {
  it("counts the tests left out for each reason, the most frequent first", () => {
    const outcomes = [
      outcome("b.test.ts", ["a page (needs Chromium)", "is shown"]),
      outcome("a.test.ts", ["opens (needs root)"]),
      outcome("a.test.ts", ["closes (needs root)"]),
      outcome("a.test.ts", ["runs (needs root)"], { isSkipped: false }),
    ];
    expect(linesOfSkipped(outcomes)).toEqual([
      "not run: 2 tests, needs root",
      "  a.test.ts (2)",
      "not run: 1 test, needs Chromium",
      "  b.test.ts (1)",
    ]);
  });

  it("prefers the reason that a test gave itself, and names tests without any", () => {
    const outcomes = [
      outcome("a.test.ts", ["opens (needs root)"], { note: "needs a faster machine" }),
      outcome("a.test.ts", ["closes"]),
    ];
    expect(linesOfSkipped(outcomes).filter((line) => line.startsWith("not run"))).toEqual([
      "not run: 1 test, needs a faster machine",
      "not run: 1 test, no reason given",
    ]);
  });

  it("names each sweep once of which only a sample ran", () => {
    const outcomes = ["one", "two"].map((title) =>
      outcome("a.soak.test.ts", ["a sweep (sample: 2 of 100 rounds)", title], { isSkipped: false }),
    );
    expect(linesOfSamples(outcomes)).toEqual(["only a sample: 2 of 100 rounds, a.soak.test.ts"]);
  });
});

it("every test that is left out under a condition says in its title what it needs", () => {
  const files = readdirSync(TESTS, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".test.ts"));
  const silent = files.flatMap((file) => {
    // The title stands before the function.
    const heads = readFileSync(join(TESTS, file), "utf8").split(/\b(?:it|describe)\.(?:skipIf|runIf)\(/);
    return heads.slice(1).flatMap((text) => (/\(needs [^()]+\)["`]/.test(text.split("=>")[0] ?? "") ? [] : [file]));
  });
  expect(silent).toEqual([]);
});
