// Takes each protection out of a copy of the project in turn, and shows that a test then fails. The working tree is not
// touched. A mutant that no test notices is a protection that nobody would miss.
//
//   npm run mutants                    all of them
//   npm run mutants -- --only NAME     one, or several with the option repeated
//   npm run mutants -- --area FOLDER   those of the files in that folder, or in several with the option repeated
//   npm run mutants -- --list          what there is
//
// The mutants and the tests that must notice them are marked in the source: scripts/mutants/marks.mjs says how.
//
// Exit code: 0 all were noticed, 1 one was not (or a test fails without any mutant), 64 wrong usage, 70 a mark is wrong or a
// mutant does not compile.
import { spawn, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { basename, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { mutate, readMarks } from "./mutants/marks.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const COPIED = [
  "package.json",
  "tsconfig.json",
  "tsconfig.page.json",
  "vitest.config.ts",
  "scripts/build.mjs",
  "scripts/cli",
  "src",
  "test",
];
const TIME_LIMIT_MS = 180_000;
/** With a mutant many tests wait for what never comes: they get so many times as long as without it, and at least a minute. */
const TIMES_AS_LONG = 10;
const LEAST_LIMIT_MS = 60_000;
const KILLER_WIDTH = 84;

/** Ends the run with a code of its own. */
class Stop extends Error {
  constructor(exitCode, message) {
    super(message);
    this.exitCode = exitCode;
  }
}

function choose(mutants, names, areas) {
  const unknown = names.filter((name) => !mutants.some((mutant) => mutant.name === name));
  if (unknown.length > 0) throw new Stop(64, `there is no mutant ${unknown.join(", ")}; --list shows what there is`);
  const folders = areas.map((area) => `${relative(ROOT, resolve(ROOT, area))}/`);
  const empty = folders.filter((folder) => !mutants.some(({ file }) => file.startsWith(folder)));
  if (empty.length > 0) throw new Stop(64, `there is no mutant in ${empty.join(", ")}; --list shows what there is`);
  return mutants.filter(
    ({ name, file }) =>
      (names.length === 0 && areas.length === 0) ||
      names.includes(name) ||
      folders.some((folder) => file.startsWith(folder)),
  );
}

function copyProject() {
  const copy = mkdtempSync(join(tmpdir(), "holdfast-mutants-"));
  for (const path of COPIED) cpSync(join(ROOT, path), join(copy, path), { recursive: true });
  symlinkSync(realpathSync(join(ROOT, "node_modules")), join(copy, "node_modules"));
  return copy;
}

/** Answers what the compiler says against it, or null. */
function build(copy) {
  const { status, stdout } = spawnSync(process.execPath, ["scripts/build.mjs"], { cwd: copy, encoding: "utf8" });
  return status === 0 ? null : stdout;
}

/** The group of the tests that run now. */
let running = null;

/** Runs the tests. Answers what failed, or null. Whatever they started ends with them. */
async function firstFailure(copy, { files, pattern }, name, limitMs) {
  const report = join(copy, "report.json");
  rmSync(report, { force: true });
  const args = ["run", ...files, "-t", pattern, "--bail=1", "--reporter=json", `--outputFile=${report}`];
  const child = spawn(process.execPath, ["node_modules/vitest/vitest.mjs", ...args], {
    cwd: copy,
    stdio: "ignore",
    detached: true,
  });
  running = child.pid;
  let isLate = false;
  const limit = setTimeout(() => {
    isLate = true;
    endGroup(child.pid);
  }, limitMs);
  const exitCode = await new Promise((resolve) => child.once("exit", resolve));
  clearTimeout(limit);
  endGroup(child.pid);
  running = null;
  return isLate ? "the time limit" : readReport(report, exitCode, name);
}

function endGroup(pid) {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // All of them have ended.
  }
}

function readReport(report, exitCode, name) {
  const { testResults } = JSON.parse(readFileSync(report, "utf8"));
  const tests = testResults.flatMap((file) => file.assertionResults.map((test) => ({ ...test, file: file.name })));
  const failed = tests.find((test) => test.status === "failed");
  if (failed !== undefined) return `${basename(failed.file)}: ${failed.title}`;
  if (exitCode !== 0) return `${basename(testResults[0]?.name ?? "vitest")}: exit code ${exitCode}`;
  if (!tests.some((test) => test.status === "passed"))
    throw new Stop(70, `mutant ${name}: the marks of its killers select no test that runs here`);
  return null;
}

/**
 * The tests must pass on the untouched copy, or their failing says nothing. Each selection is run once. Answers how long each
 * may take with a mutant.
 */
async function checkTests(copy, mutants) {
  const selections = new Map(mutants.map(({ name, tests }) => [selectionOf(tests), { name, tests }]));
  const limits = new Map();
  process.stdout.write(`without any mutant: ${selections.size} selections of tests\n`);
  const trouble = build(copy);
  if (trouble !== null) throw new Stop(70, `does not compile without any mutant:\n${trouble}`);
  for (const [selection, { name, tests }] of selections) {
    const startedAt = performance.now();
    const failure = await firstFailure(copy, tests, name, TIME_LIMIT_MS);
    if (failure !== null) throw new Stop(1, `fails without any mutant: ${failure}`);
    limits.set(selection, Math.max(LEAST_LIMIT_MS, TIMES_AS_LONG * (performance.now() - startedAt)));
  }
  return limits;
}

function selectionOf(tests) {
  return JSON.stringify(tests);
}

async function tryMutant(copy, mutant, limitMs) {
  const target = join(copy, mutant.file);
  const startedAt = performance.now();
  writeFileSync(target, mutate(readFileSync(target, "utf8"), mutant));
  try {
    const trouble = build(copy);
    const killer = trouble === null ? await firstFailure(copy, mutant.tests, mutant.name, limitMs) : null;
    return { killer, trouble, seconds: (performance.now() - startedAt) / 1000 };
  } finally {
    cpSync(join(ROOT, mutant.file), target);
  }
}

function row(width, name, killer, seconds) {
  const shown = killer.length > KILLER_WIDTH ? `${killer.slice(0, KILLER_WIDTH - 1)}…` : killer;
  return `${name.padEnd(width)}  ${shown.padEnd(KILLER_WIDTH)}  ${seconds.padStart(7)}\n`;
}

function shown({ name, file, target, find, replace, tests }) {
  const place = target === undefined ? file : `${file}:${target + 1}`;
  return `${name}\n  ${place}\n  ${find.trim()} → ${replace.trim()}\n  ${tests.files.join(", ")}\n`;
}

async function run(mutants) {
  const width = Math.max(...mutants.map((mutant) => mutant.name.length), "mutant".length);
  const copy = copyProject();
  const tidy = () => rmSync(copy, { recursive: true, force: true, maxRetries: 5 });
  for (const signal of ["SIGINT", "SIGTERM"])
    process.once(signal, () => {
      if (running !== null) endGroup(running);
      tidy();
      process.exit(128 + constants.signals[signal]);
    });
  try {
    const limits = await checkTests(copy, mutants);
    process.stdout.write(row(width, "mutant", "killed by", "seconds"));
    const survivors = [];
    const unfit = [];
    for (const mutant of mutants) {
      const { killer, trouble, seconds } = await tryMutant(copy, mutant, limits.get(selectionOf(mutant.tests)));
      if (trouble !== null) unfit.push(`mutant ${mutant.name} does not compile:\n${trouble}`);
      else if (killer === null) survivors.push(mutant.name);
      const outcome = trouble === null ? (killer ?? "NOBODY") : "NOT TRIED: does not compile";
      process.stdout.write(row(width, mutant.name, outcome, seconds.toFixed(1)));
    }
    if (unfit.length > 0) throw new Stop(70, unfit.join("\n"));
    if (survivors.length > 0) throw new Stop(1, `no test notices ${survivors.join(", ")}`);
    process.stdout.write(`${mutants.length} of ${mutants.length} killed\n`);
  } finally {
    tidy();
  }
}

function readArguments() {
  try {
    const names = { type: "string", multiple: true };
    return parseArgs({ options: { only: names, area: names, list: { type: "boolean" } } }).values;
  } catch (error) {
    throw new Stop(64, error.message);
  }
}

try {
  const { only = [], area = [], list = false } = readArguments();
  const { mutants: all, troubles } = readMarks(ROOT);
  if (troubles.length > 0) throw new Stop(70, troubles.join("\n"));
  const mutants = choose(all, only, area);
  if (list) process.stdout.write(mutants.map(shown).join(""));
  else await run(mutants);
} catch (error) {
  if (!(error instanceof Stop)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = error.exitCode;
}
