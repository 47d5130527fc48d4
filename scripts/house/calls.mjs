/**
 * Counts what a command calls. The source is compiled without bundling into a scratch folder, and one command runs there
 * in a new SQLite workspace with a private state folder:
 *
 *   files   the modules with a called function, by the coverage that V8 writes. The body of a module does not count; a
 *           function inside another counts for its file.
 *   moves   how often control goes from one file to another. A second copy notes a call at the top of each named function
 *           and method, not of constructors. What runs between two awaits of one call counts as it comes.
 */
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const KEY = "shop:alpha";
const WRITE = JSON.stringify({
  hook_event_name: "PreToolUse",
  session_id: "house",
  tool_name: "Write",
  tool_input: { file_path: "notes.md", content: "x" },
});

/** The same key before and after, so that the measured acquire meets a store and a tree that are there. */
const COMMANDS = {
  acquire: {
    before: [["init"], ["lock", "acquire", KEY], ["lock", "release", KEY]],
    args: ["lock", "acquire", KEY],
  },
  hook: { before: [["init"]], args: ["hook", "check", "claude"], input: WRITE },
};

/** Returns `{ acquire: { files, moves }, hook: { files, moves } }`; `files` are paths of the source. */
export async function measureCalls() {
  const scratch = mkdtempSync(join(tmpdir(), "holdfast-house-"));
  try {
    const plain = compile(join(scratch, "plain"));
    const noting = compile(join(scratch, "noting"));
    for (const [id, file] of filesIn(noting, ".js").entries()) noteCalls(join(noting, file), id);
    const measured = {};
    for (const [name, command] of Object.entries(COMMANDS)) {
      const files = await calledFiles(plain, command, join(scratch, `${name}-files`));
      const moves = await movesOf(noting, command, join(scratch, `${name}-moves`));
      measured[name] = { files: files.map(sourceOf), moves };
    }
    return measured;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** A package of its own: the version stands in package.json, and packages are found beside it. */
function compile(folder) {
  mkdirSync(folder);
  for (const name of ["package.json", "node_modules"]) symlinkSync(join(ROOT, name), join(folder, name));
  const dist = join(folder, "dist");
  const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
  execFileSync(process.execPath, [tsc, "-p", "tsconfig.json", "--declaration", "false", "--outDir", dist], {
    cwd: ROOT,
    stdio: "inherit",
  });
  return dist;
}

async function calledFiles(dist, command, folder) {
  const coverage = join(folder, "coverage");
  const pid = await runLast(dist, command, folder, { NODE_V8_COVERAGE: coverage });
  const start = `${pathToFileURL(dist).href}/`;
  const called = new Set();
  for (const name of readdirSync(coverage).filter((each) => each.startsWith(`coverage-${pid}-`))) {
    for (const { url, functions } of JSON.parse(readFileSync(join(coverage, name), "utf8")).result) {
      if (!url.startsWith(start)) continue;
      // The first function is the body of the module.
      if (functions.slice(1).some(({ ranges }) => ranges[0].count > 0)) called.add(url.slice(start.length));
    }
  }
  return [...called].sort();
}

async function movesOf(dist, command, folder) {
  const report = join(folder, "moves");
  const recorder = join(folder, "recorder.mjs");
  mkdirSync(folder);
  writeFileSync(recorder, RECORDER);
  await runLast(dist, command, folder, { HOUSE_MOVES: report }, ["--import", pathToFileURL(recorder).href]);
  return Number(readFileSync(report, "utf8"));
}

const RECORDER = `
import { writeFileSync } from "node:fs";
import { isMainThread } from "node:worker_threads";
let last = null, moves = 0;
if (isMainThread) {
  globalThis.noteCall = (file) => {
    if (last !== null && last !== file) moves += 1;
    last = file;
  };
  process.on("exit", () => writeFileSync(process.env.HOUSE_MOVES, String(moves)));
}`;

/** Runs the commands that come before, then the measured one with more environment; returns its process id. */
async function runLast(dist, { before, args, input }, folder, env, nodeArgs = []) {
  const workspace = join(folder, "workspace");
  mkdirSync(workspace, { recursive: true });
  const main = join(dist, filesIn(dist, "cli/main.js")[0]);
  for (const each of before) await run([main, ...each], workspace, {});
  return run([...nodeArgs, main, ...args], workspace, env, input);
}

function run(args, cwd, env, input = "") {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ["--preserve-symlinks", "--preserve-symlinks-main", ...args], {
      cwd,
      env: { PATH: process.env.PATH, HOME: cwd, XDG_STATE_HOME: join(cwd, "..", "state"), ...env },
      stdio: ["pipe", "ignore", "pipe"],
    });
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (text) => {
      said += text;
    });
    child.on("error", reject);
    child.on("close", (code) =>
      code === 0 ? resolve(child.pid) : reject(new Error(`${args.join(" ")} ended with ${code}: ${said}`)),
    );
    child.stdin.end(input);
  });
}

const OPENING =
  /^\s*(?:export\s+)?(?:static\s+)?(?:async\s+)?(?:function\s*\*?\s*|\*\s*)?(?:get\s+|set\s+)?([#\w$]+)\s*\(.*\)\s*\{$/;
const NOT_NOTED = new Set(["if", "for", "while", "switch", "catch", "with", "function", "constructor"]);

/** tsc writes one statement a line, so a line that opens a named function or a method can be told by its form. */
function noteCalls(path, id) {
  const lines = readFileSync(path, "utf8").split("\n");
  writeFileSync(
    path,
    lines
      .map((line) => {
        const name = OPENING.exec(line)?.[1];
        return name === undefined || NOT_NOTED.has(name) ? line : `${line} globalThis.noteCall?.(${id});`;
      })
      .join("\n"),
  );
}

function filesIn(folder, end) {
  return readdirSync(folder, { recursive: true })
    .filter((path) => path.endsWith(end))
    .sort();
}

function sourceOf(path) {
  return `src/${path.replace(/\.js$/, ".ts")}`;
}
