// Reads the mutants and the tests that kill them from the marks in the source, so that a move or a new title breaks nothing.
//
//   // mutant: NAME: FIND → REPLACE    stands above the line that it changes. FIND occurs once in that line; an empty
//                                      REPLACE takes it out. Several mutants of one line stand above each other.
//   // kills: NAME, NAME (WORDS)       stands above the call of the test or suite that must fail with these mutants.
//
// The head of a loop or an `if` whose body has no braces may stand in between: the formatter moves comments above it.
//
// WORDS chooses where a mark alone does not. In a test file they are words of the full title, for one row of `each` or one
// suite of a loop. In any other module they name the test file that runs it: `memory` for `memory.test.ts`.
//
// `mutants.json` beside the code keeps the mutants that no comment can hold, because they span lines or change SQL: a list of
// { name, file, find, replace }, where `file` is relative to the list and `find` occurs once in that file.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join, posix } from "node:path";

const MUTANT = /^\s*\/\/ mutant: (.*)$/;
const MUTANT_TEXT = /^([a-z0-9-]+): (\S(?:[^→]*\S)?) →(?: (\S[^→]*))?$/;
const KILLS = /^\s*\/\/ kills: (.*)$/;
const KILLED = /([a-z0-9-]+)(?: \(([^()]+)\))?(?:, |$)/gy;
const CALL = /^\s*(?:it|test|describe)\b/;
const SUITE = /^\s*describe\b/;
const HEAD = /^\s*(?:for|while|if) \(.*\)$/;
const CLOSING = /^\s*[\])}]/;
/** Vitest's test modifiers that are called themselves before the title comes. */
const CALLED_MODIFIERS = new Set(["each", "for", "skipIf", "runIf"]);
/** The places in a title that Vitest or JavaScript fills in: `%s`, `$name`, `${name}`. */
const FILLED_IN = /%[sdifjoOc#$%]|\$\{[^}]*\}|\$[\w.]+/;
const ANYTHING = "[\\s\\S]*";

/**
 * Returns the mutants below `root`, each with the tests that kill it, and what is wrong with the marks, as lines of text. The
 * runner can try every mutant when there are none.
 */
export function readMarks(root) {
  const sources = readSources(root);
  const troubles = [];
  const mutants = [];
  const killers = new Map();
  for (const [file, lines] of sources) {
    if (basename(file) === "mutants.json") mutants.push(...listed(file, lines));
    else mutants.push(...marked(file, lines, troubles));
    for (const { name, ...killer } of killsIn(file, sources, troubles))
      killers.set(name, [...(killers.get(name) ?? []), killer]);
  }
  const names = new Set();
  for (const mutant of mutants) {
    if (names.has(mutant.name)) troubles.push(`${mutant.file}: there are two mutants ${mutant.name}`);
    names.add(mutant.name);
    const places = textOf(root, mutant).split(mutant.find).length - 1;
    if (places !== 1) troubles.push(`${mutant.file}: mutant ${mutant.name}: ${places} places match ${mutant.find}`);
    if (!killers.has(mutant.name)) troubles.push(`${mutant.file}: no test is marked "kills: ${mutant.name}"`);
    mutant.tests = selectionOf(killers.get(mutant.name) ?? []);
  }
  for (const [name, [{ at }]] of killers) if (!names.has(name)) troubles.push(`${at}: there is no mutant ${name}`);
  return { mutants, troubles };
}

/** Returns the text of a file with the mutant in place. */
export function mutate(text, { target, find, replace }) {
  if (target === undefined) return text.replace(find, () => replace);
  const lines = text.split("\n");
  lines[target] = lines[target].replace(find, () => replace);
  return lines.join("\n");
}

/** Returns the files that may have marks, as lines by their path below `root`. */
function readSources(root) {
  const sources = new Map();
  for (const folder of ["src", "test"])
    for (const entry of readdirSync(join(root, folder), { recursive: true, withFileTypes: true })) {
      if (!entry.isFile() || !/\.tsx?$|^mutants\.json$/.test(entry.name)) continue;
      const path = join(entry.parentPath, entry.name);
      sources.set(posix.relative(root, path), readFileSync(path, "utf8").split("\n"));
    }
  return new Map([...sources].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function listed(file, lines) {
  const folder = posix.dirname(file);
  return JSON.parse(lines.join("\n")).map((mutant) => ({ ...mutant, file: posix.join(folder, mutant.file) }));
}

function* marked(file, lines, troubles) {
  for (const [index, line] of lines.entries()) {
    const mark = MUTANT.exec(line);
    if (mark === null) continue;
    const [, name, find, replace = ""] = MUTANT_TEXT.exec(mark[1]) ?? [];
    if (name === undefined) troubles.push(`${file}:${index + 1}: not of the form "mutant: NAME: FIND → REPLACE"`);
    else yield { name, file, target: targetBelow(lines, index, MUTANT, find), find, replace };
  }
}

/** Returns the index of the line that a mark is about: below its neighbors, and below the heads that do not have the text. */
function targetBelow(lines, index, mark, text) {
  const isBetween = (line) => mark.test(line) || (HEAD.test(line) && (text === undefined || !line.includes(text)));
  let below = index + 1;
  while (isBetween(lines[below] ?? "")) below += 1;
  return below;
}

/** Returns the text in which a mutant has its place: the line below its mark, or the whole file for one of a list. */
function textOf(root, { file, target }) {
  if (!existsSync(join(root, file))) return "";
  const text = readFileSync(join(root, file), "utf8");
  return target === undefined ? text : (text.split("\n")[target] ?? "");
}

function* killsIn(file, sources, troubles) {
  const lines = sources.get(file);
  for (const [index, line] of lines.entries()) {
    const mark = KILLS.exec(line);
    if (mark === null) continue;
    const at = `${file}:${index + 1}`;
    const killed = [...mark[1].matchAll(KILLED)];
    if (killed.map(([text]) => text).join("") !== mark[1]) troubles.push(`${at}: not of the form "kills: NAME, NAME"`);
    const isTestFile = file.endsWith(".test.ts");
    for (const [, name, words] of killed) {
      const runBy = isTestFile ? file : testFileNamed(words, file, sources);
      if (runBy === null) troubles.push(`${at}: "kills: ${name} (FILE)" must name one test file that runs this module`);
      else {
        const pattern = patternOf(lines, targetBelow(lines, index, KILLS), isTestFile ? words : undefined, isTestFile);
        yield { name, at, file: runBy, pattern };
      }
    }
  }
}

/** Returns the one test file of that name that imports the module, directly or not, or null. */
function testFileNamed(name, module, sources) {
  const named = [...sources.keys()].filter((file) => basename(file) === `${name}.test.ts`);
  const running = named.filter((file) => imports(file, module, sources, new Set()));
  return running.length === 1 ? running[0] : null;
}

function imports(file, module, sources, seen) {
  if (file === module) return true;
  if (seen.has(file) || !sources.has(file)) return false;
  seen.add(file);
  const paths = sources.get(file).flatMap((line) => /\bfrom "(\.[^"]*)\.js"/.exec(line)?.[1] ?? []);
  return paths.some((path) => imports(`${posix.join(posix.dirname(file), path)}.ts`, module, sources, seen));
}

function selectionOf(killers) {
  const files = [...new Set(killers.map(({ file }) => file))];
  const patterns = [...new Set(killers.map(({ pattern }) => pattern))];
  return { files, pattern: patterns.length === 1 ? patterns[0] : patterns.map((each) => `(?:${each})`).join("|") };
}

/** Returns a regular expression for the full titles of the tests that begin at a line: those of the suites and their own. */
function patternOf(lines, index, words, isTestFile) {
  const titles = [titlePattern(lines, index), ...suitesAround(lines, index).map((each) => titlePattern(lines, each))];
  const chosen = words === undefined ? "" : `(?=${ANYTHING}${escapePattern(words)})`;
  const outside = isTestFile ? "" : `(?:${ANYTHING} )?`;
  return `^${chosen}${outside}${titles.reverse().join(" ")}${SUITE.test(lines[index]) ? " " : "$"}`;
}

/** Returns where the suites around a line begin, from the inside out. The formatter indents what is inside. */
function suitesAround(lines, index) {
  const suites = [];
  let indent = indentOf(lines[index]);
  for (let above = index - 1; above >= 0 && indent > 0; above -= 1) {
    const line = lines[above];
    if (line.trim() === "" || indentOf(line) >= indent || CLOSING.test(line)) continue;
    indent = indentOf(line);
    if (SUITE.test(line)) suites.push(above);
  }
  return suites;
}

function indentOf(line) {
  return line.length - line.trimStart().length;
}

function titlePattern(lines, index) {
  const text = lines.slice(index).join("\n");
  const title = CALL.test(text) ? titleOfCall(text) : firstString(lines[index]);
  return title === null ? ANYTHING : title.split(FILLED_IN).map(escapePattern).join(ANYTHING);
}

function escapePattern(text) {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}

/** Returns the title in `it("title"`, `it.each(rows)("title"` and their like, or null when it is not written there. */
function titleOfCall(text) {
  let at = CALL.exec(text)[0].length;
  for (;;) {
    const modifier = /^\s*\.(\w+)/.exec(text.slice(at));
    if (modifier !== null) at += modifier[0].length;
    if (text[at] !== "(") {
      if (modifier === null) return null;
    } else if (modifier === null || !CALLED_MODIFIERS.has(modifier[1])) return stringAt(text.slice(at + 1).trimStart());
    else at = endOfArguments(text, at);
  }
}

/** Returns the index behind the parenthesis that closes the one at `at`. */
function endOfArguments(text, at) {
  const token = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\[\s\S])*`|\/\/.*|\/\*[\s\S]*?\*\/|[()]/g;
  token.lastIndex = at;
  let depth = 0;
  for (let found = token.exec(text); found !== null; found = token.exec(text)) {
    if (found[0] === "(") depth += 1;
    if (found[0] === ")") depth -= 1;
    if (depth === 0) return token.lastIndex;
  }
  return text.length;
}

function firstString(line) {
  const at = line.search(/["'`]/);
  return at < 0 ? null : stringAt(line.slice(at));
}

function stringAt(text) {
  const [, , body] = /^(["'`])((?:(?!\1)[^\\]|\\[\s\S])*)\1/.exec(text) ?? [];
  return body === undefined ? null : body.replace(/\\(.)/g, "$1");
}
