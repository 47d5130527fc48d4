/**
 * Counts lines. `src` means the .ts, .tsx and .sql files of src/ without the demo and the contract suite, which are counted
 * beside it wherever they stand. A line that declares a mutant, or says which one a test kills, does not count.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { spansOf, without } from "./source.mjs";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const COUNTED = /\.(?:ts|tsx|sql|mjs)$/;
const BESIDE = { demo: /^examples\//, contract: /^test\/contract\/(?:chapters\/|[^/]+$)/ };
const MUTANT_MARK = /(?:\/\/|--) (?:mutant|kills):/;
const IMPORT = /^[ \t]*import\b[^"';(]*"[^"\n]+";?/gm;

/** Returns `{ lines, codeLines, commentLines, longest: { path, lines }, demo, contract }`. */
export function measureLines() {
  const total = { lines: 0, codeLines: 0, commentLines: 0, longest: { path: "", lines: 0 } };
  const beside = { demo: 0, contract: 0 };
  for (const path of filesOf("src", "examples", "test/contract")) {
    if (!COUNTED.test(path)) continue;
    const counts = countsOf(path, readFileSync(ROOT + path, "utf8"));
    const name = Object.keys(BESIDE).find((each) => BESIDE[each].test(path));
    if (name !== undefined) beside[name] += counts.lines;
    else if (path.startsWith("src/")) {
      for (const what of ["lines", "codeLines", "commentLines"]) total[what] += counts[what];
      if (counts.lines > total.longest.lines) total.longest = { path, lines: counts.lines };
    }
  }
  return { ...total, ...beside };
}

function countsOf(path, whole) {
  const text = whole.replace(/^.*\n?/gm, (line) => (MUTANT_MARK.test(line) ? onlyCode(line) : line));
  const code = without(text, ["comment"], path.endsWith(".sql"));
  const codeLines = filled(path.endsWith(".sql") ? code : code.replace(IMPORT, (part) => part.replace(/[^\n]/g, " ")));
  return { lines: text.split("\n").length - 1, codeLines, commentLines: filled(text) - filled(code) };
}

/** A mark behind code leaves the code; a mark alone leaves nothing. */
function onlyCode(line) {
  const code = line.slice(0, line.search(MUTANT_MARK)).trimEnd();
  return code === "" ? "" : `${code}\n`;
}

function filled(text) {
  return text.split("\n").filter((line) => line.trim() !== "").length;
}

const DIALECT = /\b(?:whoever|nobody|somebody|anybody)\b|\bis no\b(?! (?:longer|more)\b)|\bis to be\b/i;
const OPENING = /^(?:\/\/|\/\*+|--|\s|\*)*(?:what|who|whoever)\b/i;
const SPOKEN = /\.(?:ts|tsx|mjs|cjs|sql|md)$/;
const FOLDERS = ["src", "test", "scripts", "examples", "bench", "docs", "skills"];
const PAGES = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "AGENTS.md", "CHANGELOG.md"];

/**
 * Returns how many lines are in the old dialect, by folder: `{ total, folders: { src: … } }`. Counted are comments, strings
 * (so titles and messages too) and the prose of pages.
 */
export function measureDialect() {
  const folders = {};
  for (const path of filesOf(...FOLDERS, ...PAGES)) {
    if (!SPOKEN.test(path)) continue;
    const count = dialectLines(path, readFileSync(ROOT + path, "utf8")).length;
    const folder = path.includes("/") ? path.slice(0, path.indexOf("/")) : "pages";
    if (count > 0) folders[folder] = (folders[folder] ?? 0) + count;
  }
  return { total: Object.values(folders).reduce((sum, each) => sum + each, 0), folders };
}

/** Returns the numbers of the lines of a file that are in the old dialect, from 1. */
function dialectLines(path, text) {
  if (path.endsWith(".md")) return proseLines(text);
  const found = new Set();
  let previous = null;
  for (const { kind, start, end } of spansOf(text, path.endsWith(".sql"))) {
    const part = text.slice(start, end);
    if (kind === "code") {
      // Comments on lines that follow each other are one.
      if (/\S|\n\s*\n/.test(part)) previous = null;
      continue;
    }
    const at = text.slice(0, start).split("\n").length;
    if (kind !== "regex")
      for (const [index, line] of part.split("\n").entries()) if (DIALECT.test(line)) found.add(at + index);
    if (kind === "comment" && previous !== "comment" && OPENING.test(part)) found.add(at);
    previous = kind;
  }
  return [...found];
}

/** The code of a page is shown, not spoken. */
function proseLines(text) {
  let inCode = false;
  return text.split("\n").flatMap((line, index) => {
    if (/^\s*```/.test(line)) inCode = !inCode;
    return !inCode && DIALECT.test(line) ? [index + 1] : [];
  });
}

/** What git knows or would add, so that nothing built is counted. */
export function filesOf(...paths) {
  const listed = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", ...paths], {
    cwd: ROOT,
    encoding: "utf8",
    maxBuffer: 1 << 26,
  });
  return [...new Set(listed.split("\0"))].filter((path) => path !== "" && existsSync(ROOT + path)).sort();
}
