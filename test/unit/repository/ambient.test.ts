import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "../../fixtures/pages.fixture.js";

interface Source {
  without(text: string, kinds: readonly string[]): string;
}

const { without }: Source = await import(new URL("../../../scripts/house/source.mjs", import.meta.url).href);
const SOURCES = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" })
  .filter((path) => /\.tsx?$/.test(path))
  .map((path) => path.replaceAll("\\", "/"));

/** What a function finds around it instead of being given it. */
const AMBIENT =
  /\bprocess\s*(?:\?\.|\.)\s*env\b|\}\s*=\s*process\b|\bDate\s*\.\s*now\b|\bMath\s*\.\s*random\b|\bnew\s+Date\b(?!\s*\(\s*[^\s)])/g;
/** The openers that read the environment themselves; they hand it down. */
const OPENERS: Readonly<Record<string, readonly string[]>> = {
  "client/open-holdfast.ts": ["process.env"],
  "client/retry.ts": ["process.env"],
  "features/file-locker/file-locker.ts": ["process.env"],
};
const PRINTED = /\bconsole\b|\bprocess\s*(?:\?\.|\.)\s*(?:stdout|stderr)\b/g;

function usesIn(text: string, pattern: RegExp): string[] {
  const code = without(text, ["comment", "string", "template", "regex"]);
  // A name imported from node:process would have no `process` before it.
  const imported = /from "node:(?:process|console)"/.exec(without(text, ["comment", "template"]));
  return [...(code.match(pattern) ?? []), ...(imported ?? [])];
}

function findUses(pattern: RegExp, rooms: RegExp): Record<string, readonly string[]> {
  const found = SOURCES.filter((path) => !rooms.test(path)).map(
    (path) => [path, usesIn(readFileSync(join(ROOT, "src", path), "utf8"), pattern)] as const,
  );
  return Object.fromEntries(found.filter(([, uses]) => uses.length > 0));
}

describe("the library", () => {
  it("is given the clock, random numbers and the environment; only apps, platform and a few openers look for them", () => {
    expect(findUses(AMBIENT, /^(?:apps|platform)\//)).toEqual(OPENERS);
  });

  it("prints nothing: only apps and agents do", () => {
    expect(findUses(PRINTED, /^(?:apps|agents)\//)).toEqual({});
  });
});

describe("the search for what is around a function", () => {
  it.each([
    "const now = Date.now();",
    "const clock = Date.now;",
    "const at = new Date().toISOString();",
    "const at = new Date;",
    "const text = process.env.HOME;",
    "const { env } = process;",
    "const text = `in $" + "{process.env.HOME}`;",
    "const ms = 5 * Math.random();",
    'import { env } from "node:process";',
  ])("finds %s", (text) => {
    expect(usesIn(text, AMBIENT)).toHaveLength(1);
  });

  it.each([
    "// not Date.now()",
    'const hint = "set process.env.HOME";',
    "const at = new Date(now.wallMs);",
    "const at = performance.now();",
    "const id = process.pid;",
  ])("lets pass %s", (text) => {
    expect(usesIn(text, AMBIENT)).toEqual([]);
  });

  it.each(["console.warn(x);", "process.stdout.write(x);", "process.stderr.fd"])("finds that %s prints", (text) => {
    expect(usesIn(text, PRINTED)).toHaveLength(1);
  });
});
