import { existsSync, readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

interface Import {
  readonly target: string;
  readonly kind: "type" | "value" | "dynamic" | "url";
}

interface File {
  readonly path: string;
  readonly browserSafe: boolean;
  readonly imports: readonly Import[];
}

interface Violation {
  readonly path: string;
  readonly target: string;
  readonly why: string;
}

interface Law {
  importsOf(text: string): readonly { readonly specifier: string; readonly kind: Import["kind"] }[];
  readTree(root: string): readonly File[];
  violations(files: readonly File[]): readonly Violation[];
  withPicture(page: string): string;
}

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const law: Law = await import(new URL("../../../scripts/house/law.mjs", import.meta.url).href);

describe("the rooms of src/", () => {
  const tree = law.readTree(ROOT);

  it("hold every file, and no import goes up or sideways", () => {
    expect(law.violations(tree).map(asLine)).toEqual([]);
  });

  it("have a README.md of at most ten lines in each folder", () => {
    const folders = [...new Set(tree.map(({ path }) => dirname(path)))];
    const lengths = folders.map((folder) => {
      const page = `${ROOT}${folder}/README.md`;
      return { folder, lines: existsSync(page) ? readFileSync(page, "utf8").trimEnd().split("\n").length : 0 };
    });
    expect(lengths.filter(({ lines }) => lines < 3 || lines > 10)).toEqual([]);
  });

  it("are drawn in ARCHITECTURE.md as the table has them; `npm run docs` writes the picture", () => {
    const page = readFileSync(`${ROOT}ARCHITECTURE.md`, "utf8");
    expect(page).toBe(law.withPicture(page));
  });

  it("have threads and processes that the build and knip find by their suffix", () => {
    const started = tree.map(({ path }) => path).filter((path) => /\.(thread|process)\.ts$/.test(path));
    const urls = new Set(tree.flatMap(({ imports }) => imports.filter(({ kind }) => kind === "url")).map(targetOf));
    expect(started.filter((path) => !urls.has(path))).toEqual([]);
    for (const file of ["scripts/build.mjs", "knip.json"]) {
      const text = readFileSync(ROOT + file, "utf8");
      expect(started.filter((path) => text.includes(basename(path, ".ts")))).toEqual([]);
    }
  });
});

describe("the import law", () => {
  it.each([
    ["an import that goes up", "src/client/lease.ts", "src/apps/cli/run.ts"],
    ["a feature that imports another", "src/features/jobs/jobs.ts", "src/features/publish/stage.ts"],
    ["a feature that imports the store", "src/features/jobs/jobs.ts", "src/store/contract.ts"],
    ["a driver that imports another", "src/store/file/open.ts", "src/store/sqlite/open.ts"],
    ["a store module that knows a driver", "src/store/ledger.ts", "src/store/sqlite/open.ts"],
    ["a client that sees more of a store than its contract", "src/client/lease.ts", "src/store/ledger.ts"],
    ["a library module that imports a public subpath", "src/agents/hooks/check.ts", "src/index.ts"],
    ["a program that imports the page", "src/apps/cli/run.ts", "src/apps/dash/page/main.tsx"],
    ["a page that imports the library", "src/apps/dash/page/main.tsx", "src/base/errors.ts"],
    ["a page that imports Node.js", "src/apps/dash/page/main.tsx", "node:fs"],
    ["a source file that imports a test", "src/client/lease.ts", "test/contract/index.ts"],
    ["a package outside its room", "src/store/sqlite/open.ts", "pg"],
    ["a package that the table lacks", "src/base/errors.ts", "lodash"],
    ["a thread that is imported", "src/client/renewer.ts", "src/client/renewer.thread.ts"],
  ])("refuses %s", (_, path, target) => {
    const found = law.violations([file(path, [{ target, kind: "value" }]), file(target)]);
    expect(found.filter((each) => each.path === path).map(targetOf)).toEqual([target]);
  });

  it.each([
    ["a file in no room", [file("src/helpers/text.ts")]],
    ["a file beside the sections of a room", [file("src/apps/text.ts")]],
    ["a feature that the table lacks", [file("src/features/mail/mail.ts")]],
    [
      "a started module without the suffix",
      [file("src/client/renewer.ts", [{ target: "src/client/beat.ts", kind: "url" }]), file("src/client/beat.ts")],
    ],
    [
      "a browser-safe module with a value that is not",
      [file("src/base/text.ts", [{ target: "src/base/errors.ts", kind: "value" }], true), file("src/base/errors.ts")],
    ],
  ] satisfies [string, File[]][])("refuses %s", (_, files) => {
    expect(law.violations(files)).toHaveLength(1);
  });

  it.each([
    ["the board on documents", "src/features/board/board.ts", "src/features/documents/documents.ts", "value"],
    ["the client and the contract", "src/client/lease.ts", "src/store/contract.ts", "value"],
    ["the page and its views", "src/apps/dash/page/main.tsx", "src/apps/dash/views.ts", "value"],
    ["a thread that is started", "src/client/renewer.ts", "src/client/renewer.thread.ts", "url"],
  ] satisfies [string, string, string, Import["kind"]][])("allows %s", (_, path, target, kind) => {
    expect(law.violations([file(path, [{ target, kind }]), file(target)]).map(asLine)).toEqual([]);
  });

  it("reads every form of an import, and none in comments or templates", () => {
    const text = [
      'import a, { type b } from "./1.js";',
      'import type { c } from "./2.js";',
      "import {",
      "  d,",
      '} from "./3.js";',
      'export type { e } from "./4.js";',
      'export { f } from "./5.js";',
      'import "./6.js";',
      'const g = await import("./7.js");',
      'const h = new URL("./8.js", import.meta.url);',
      '// import i from "./9.js";',
      'const j = `\nimport k from "./10.js";\n`;',
      'type l = import("./11.js").L;',
      'const m = createRequire(import.meta.url)("n");',
    ].join("\n");
    expect(law.importsOf(text).map(({ specifier, kind }) => `${specifier} ${kind}`)).toEqual([
      "./1.js value",
      "./2.js type",
      "./3.js value",
      "./4.js type",
      "./5.js value",
      "./6.js value",
      "./7.js dynamic",
      "./11.js dynamic",
      "./8.js url",
      "n dynamic",
    ]);
  });
});

function file(path: string, imports: readonly Import[] = [], browserSafe = false): File {
  return { path, browserSafe, imports };
}

function targetOf({ target }: { readonly target: string }): string {
  return target;
}

function asLine({ path, target, why }: Violation): string {
  return `${path} → ${target}: ${why}`;
}
