/** What the pages say is so: codes, examples, links and the tests they name. */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ERRORS, type ErrorFacts } from "../../../src/base/errors.js";
import { page, ROOT, unwrapped } from "../../fixtures/pages.fixture.js";

const RUNNER = join(ROOT, "test", "interfaces", "docs", "run-examples.fixture.mjs");
const run = promisify(execFile);

function filesBelow(folder: string, ending: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(ending))
    .map((name) => join(folder, name));
}

describe("docs/errors.md", () => {
  const sections = page("docs/errors.md").split(/^### /m).slice(1);
  const documented = new Map(sections.map((section) => [section.split("\n", 1)[0] ?? "", section]));

  it("has every code, once, in the order of the table", () => {
    expect(sections.map((section) => section.split("\n", 1)[0])).toEqual(Object.keys(ERRORS));
  });

  it.each(Object.entries<ErrorFacts>(ERRORS))("says of %s what the table says", (code, facts) => {
    expect(factsIn(documented.get(code) ?? "")).toEqual({ ...facts });
  });

  it("says which codes this version does not throw", () => {
    const source = filesBelow("src", ".ts");
    const text = source
      .map((name) => (name.endsWith("errors.ts") ? thrownInErrors(page(name)) : page(name)))
      .join("\n");
    const unused = Object.keys(ERRORS).filter((code) => !text.includes(`"${code}"`));
    const marked = sections.filter((section) => section.includes("Not thrown by this version."));
    expect(marked.map((section) => section.split("\n", 1)[0])).toEqual(unused);
  });
});

/** A section: a heading, the meaning, three points, what else there is to say, and the reasons of a code that has them. */
function factsIn(section: string): ErrorFacts {
  const [, meaning = "", points = ""] = section.split("\n\n");
  const [retryable, exit, next] = points.split(/^- /m).slice(1);
  return {
    meaning: unwrapped(meaning),
    retryable: pointOf(retryable, "Retryable") === "yes",
    exit: Number(pointOf(exit, "Exit code")),
    next: pointOf(next, "What to do"),
    ...reasonsIn(section),
  };
}

function reasonsIn(section: string): Pick<ErrorFacts, "reasons"> {
  const [, list] = section.split("`details.reason` is one of these:\n\n");
  if (list === undefined) return {};
  const points = list.split(/^- /m).slice(1).map(unwrapped);
  return { reasons: Object.fromEntries(points.map((point) => /^`(\w+)`: (.*)$/.exec(point)?.slice(1) ?? [point, ""])) };
}

function pointOf(point: string | undefined, name: string): string {
  const text = unwrapped(point ?? "");
  expect(text.startsWith(`${name}: `), `${name} in "${text}"`).toBe(true);
  return text.slice(name.length + 2);
}

/** Behind the table, errors.ts throws some of its codes itself. */
function thrownInErrors(text: string): string {
  return text.slice(text.indexOf("satisfies Record"));
}

interface Example {
  readonly name: string;
  readonly file: string;
  readonly source: string;
  /** What its `// prints:` comments say. */
  readonly prints: readonly string[];
}

/** Blocks whose fence says `ts runnable` or `js runnable`. */
function examplesIn(pages: readonly string[]): Example[] {
  return pages.flatMap((name) => {
    const blocks = [...page(name).matchAll(/^```(ts|js) runnable\n(.*?)^```$/gms)];
    return blocks.map(([, language, source = ""], at) => ({
      name: `${name} ${at + 1}: ${/^(?:await using|const|using) .*$/m.exec(source)?.[0] ?? ""}`,
      file: `${name.replaceAll(/[^a-z]+/gi, "-")}-${at + 1}.${language === "ts" ? "mts" : "mjs"}`,
      source,
      prints: [...source.matchAll(/\/\/ prints: (.*)$/gm)].map(([, text = ""]) => text),
    }));
  });
}

interface Outcome {
  readonly file: string;
  readonly printed: readonly string[];
  readonly error: string | null;
}

describe("examples", () => {
  const examples = examplesIn(["README.md", ...filesBelow("docs", ".md")]);
  const outcomes = new Map<string, Outcome>();
  let workshop: string;

  beforeAll(async () => {
    workshop = mkdtempSync(join(tmpdir(), "holdfast-docs-"));
    mkdirSync(join(workshop, "node_modules"));
    symlinkSync(ROOT, join(workshop, "node_modules", "holdfast"));
    for (const name of ["@types", "@opentelemetry"])
      symlinkSync(join(ROOT, "node_modules", name), join(workshop, "node_modules", name));
    for (const { file, source } of examples) writeFileSync(join(workshop, file), source);
    await compile(workshop);
    const files = examples.map(({ file }) => file);
    const halves = [0, 1].map((half) =>
      runAll(
        workshop,
        files.filter((_, at) => at % 2 === half),
      ),
    );
    for (const outcome of (await Promise.all(halves)).flat()) outcomes.set(outcome.file, outcome);
  }, 300_000);

  afterAll(() => rmSync(workshop, { recursive: true, force: true }));

  it("are there", () => {
    expect(examples.filter(({ file }) => file.startsWith("README")).length).toBeGreaterThan(0);
    expect(examples.length).toBeGreaterThan(20);
  });

  it.each(examples)("$name", ({ file, prints }) => {
    const { error, printed } = outcomes.get(file) ?? { error: "it did not come to an end", printed: [] };
    expect(error).toBeNull();
    if (prints.length > 0) expect(printed).toEqual(prints);
  });
});

/** One process runs them one after the other, each in a folder of its own; its console is what the example sees. */
async function runAll(workshop: string, files: readonly string[]): Promise<Outcome[]> {
  const { stdout } = await run(process.execPath, [RUNNER, workshop, ...files], { timeout: 240_000 }).catch(
    (error: { stdout?: string }) => ({ stdout: error.stdout ?? "" }),
  );
  return stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Outcome);
}

/** Type-checks all of them against the built package, and turns `await using` into what Node 20 knows. */
async function compile(folder: string): Promise<void> {
  const compilerOptions = {
    target: "es2022",
    lib: ["es2023", "esnext.disposable"],
    module: "nodenext",
    types: ["node"],
    strict: true,
    skipLibCheck: true,
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.mts"] }));
  const tsc = join(ROOT, "node_modules", "typescript", "bin", "tsc");
  await run(process.execPath, [tsc, "-p", folder]).catch((error: { stdout?: string }) => {
    throw new Error(`the examples do not compile:\n${error.stdout ?? String(error)}`);
  });
}

describe("docs/decisions/", () => {
  it("has an index with every record and its title", () => {
    const records = readdirSync(join(ROOT, "docs/decisions")).filter((name) => name !== "README.md");
    const titles = records.map((name) => [name, /^# \d{4} (.*)$/m.exec(page(`docs/decisions/${name}`))?.[1]]);
    const index = page("docs/decisions/README.md").matchAll(/^\| \[\d{4}\]\((.*?)\) *\| (.*?) *\|/gm);
    expect([...index].map(([, name, title]) => [name, title])).toEqual(titles.sort());
  });
});

describe("pages", () => {
  const pages = [
    ...["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "AGENTS.md"],
    ...filesBelow("docs", ".md"),
  ];

  it.each(pages)("%s: links lead somewhere", (name) => {
    const links = [...page(name).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
    const dead = links.filter((target) => !/^[a-z]+:/.test(target) && !leadsSomewhere(name, target));
    expect(dead).toEqual([]);
  });

  it.each(pages)("%s: files it names exist", (name) => {
    const paths = page(name).matchAll(/`((?:src|test|bench|models|scripts|contract)\/[\w./-]+)`/g);
    const named = [...paths].map(([, path = ""]) => path.replace(/^contract\//, "test/contract/chapters/"));
    expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });
});

function leadsSomewhere(from: string, target: string): boolean {
  const [path = "", anchor] = target.split("#");
  const file = path === "" ? from : join(dirname(from), path);
  if (!existsSync(join(ROOT, file))) return false;
  return anchor === undefined || anchorsOf(page(file)).has(anchor);
}

/** As GitHub makes them: lower case, blanks to dashes, everything else but letters, digits, dashes and _ left out. */
function anchorsOf(text: string): Set<string> {
  const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => heading.toLowerCase());
  return new Set(headings.map((heading) => heading.replaceAll(/[^\p{L}\p{N}\s_-]/gu, "").replaceAll(" ", "-")));
}
