// Compiles src/ to dist/ from scratch, so that nothing of an earlier build stays behind. The command line is then bundled
// into one file: a start reads one module instead of a hundred, and runs of it only what the command needs.
import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const { dependencies, peerDependencies } = JSON.parse(readFileSync(`${root}package.json`, "utf8"));
const KERNEL_LOCKS = "fs-native-extensions";

/** Its binary is found by a resolver that costs more than all else in a start; its place is known. */
const directBinding = {
  name: "direct-binding",
  setup({ onLoad }) {
    onLoad({ filter: new RegExp(`${KERNEL_LOCKS}/binding\\.js$`) }, () => ({
      contents: `
        const place = "${KERNEL_LOCKS}/prebuilds/" + process.platform + "-" + process.arch + "/${KERNEL_LOCKS}.node";
        const resolver = "${KERNEL_LOCKS}/binding.js";
        try {
          module.exports = require(place);
        } catch {
          module.exports = require(resolver);
        }`,
    }));
  },
};

/** Returns the modules that run as a thread or a process of their own, by the name that their URL has. */
function startedModules() {
  const paths = readdirSync(`${root}src`, { recursive: true, encoding: "utf8" });
  const started = paths.filter((path) => /\.(thread|process)\.ts$/.test(path));
  return Object.fromEntries(started.map((path) => [basename(path, ".ts"), `src/${path}`]));
}

/**
 * Runs the command that starts most often, and keeps what V8 compiled for it: so a start finds what it needs. A system on which
 * that command cannot run, such as one with a shared temporary folder, keeps what the start itself compiled.
 */
function makeCache() {
  const { HOLDFAST_ROOT: _root, HOLDFAST_STORE: _store, HOLDFAST_OWNER: _owner, ...outer } = process.env;
  const workspace = mkdtempSync(join(tmpdir(), "holdfast-build-"));
  const env = { ...outer, XDG_STATE_HOME: join(workspace, "state") };
  const holdfast = (words, more) =>
    execFileSync(process.execPath, [`${root}dist/cli/main.js`, ...words], {
      cwd: workspace,
      env,
      stdio: "pipe",
      ...more,
    });
  const tool = { tool_name: "Write", tool_input: { file_path: join(workspace, "file"), content: "" } };
  const input = JSON.stringify({ session_id: "build", hook_event_name: "PreToolUse", cwd: workspace, ...tool });
  const recording = { ...env, HOLDFAST_MAKE_CACHE: "1" };
  try {
    holdfast(["init"]);
    holdfast(["hook", "check", "claude"], { env: recording, input });
  } catch {
    holdfast(["--version"], { env: recording });
  } finally {
    rmSync(workspace, { recursive: true, force: true });
  }
}

rmSync(`${root}dist`, { recursive: true, force: true });
execFileSync(process.execPath, [`${root}node_modules/typescript/bin/tsc`, "-p", "tsconfig.json"], {
  cwd: root,
  stdio: "inherit",
});

rmSync(`${root}dist/apps/cli`, { recursive: true, force: true });
await build({
  absWorkingDir: root,
  // Beside command.js stand the modules that are started as threads or processes: they are looked up there by URL. No module
  // of the bundle may await at its top level.
  entryPoints: { command: "src/apps/cli/main.ts", ...startedModules() },
  outdir: "dist/cli",
  bundle: true,
  platform: "node",
  format: "cjs",
  target: "node20",
  external: Object.keys({ ...dependencies, ...peerDependencies }).filter((name) => name !== KERNEL_LOCKS),
  plugins: [directBinding],
  define: { "import.meta.url": "ownUrl" },
  banner: { js: 'const ownUrl = require("node:url").pathToFileURL(__filename).href;' },
  logLevel: "warning",
});
// The page of `holdfast dash`, whole: a browser asks for nothing from anywhere else.
await build({
  absWorkingDir: root,
  entryPoints: [
    { in: "src/apps/dash/page/main.tsx", out: "page" },
    { in: "src/apps/dash/page/page.css", out: "page" },
  ],
  outdir: "dist/cli/page",
  bundle: true,
  minify: true,
  platform: "browser",
  format: "esm",
  target: ["es2022"],
  tsconfig: "tsconfig.page.json",
  logLevel: "warning",
});
// The marks of mutants and of the tests that kill them stay in this repository.
for (const name of readdirSync(`${root}dist`, { recursive: true }).filter((each) => each.endsWith(".js"))) {
  const code = readFileSync(`${root}dist/${name}`, "utf8");
  const unmarked = code.replace(/^ *\/\/ (?:mutant|kills): .*\n| *\/\/ (?:mutant|kills): .*$/gm, "");
  if (unmarked !== code) writeFileSync(`${root}dist/${name}`, unmarked);
}
cpSync(`${root}src/apps/dash/page/index.html`, `${root}dist/cli/page/index.html`);

// CommonJS starts faster than an ES module here, by a tenth of the whole.
writeFileSync(`${root}dist/cli/package.json`, `${JSON.stringify({ type: "commonjs" })}\n`);
cpSync(`${root}scripts/cli/main.cjs`, `${root}dist/cli/main.js`);
chmodSync(`${root}dist/cli/main.js`, 0o755);
makeCache();

// The functions of the PostgreSQL store are read from beside the module that installs them, bundled or not.
for (const place of ["store/postgres", "cli"])
  cpSync(`${root}src/store/postgres/sql`, `${root}dist/${place}/sql`, {
    recursive: true,
    filter: (path) => !path.endsWith(".md"),
  });
