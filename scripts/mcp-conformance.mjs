// Runs the official conformance scenarios that apply to this server against `holdfast mcp --http`, for both revisions. They
// come from npm into a folder of their own, and so does Node 24 when this one is too old for them. Build first.
//
//   npm run build && node scripts/mcp-conformance.mjs
//
// The server has tools of its own and no prompts, resources, logging or elicitation, so scenarios that call fixture tools or
// ask for those do not apply. A check that the suite itself calls not testable here is counted apart.
import { execFile, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const SUITE = "@modelcontextprotocol/conformance@0.2.0-alpha.12";
const NEWER_NODE = "node@24";
const OLDEST_NODE = 22;
const SCENARIOS = {
  "2025-11-25": ["server-initialize", "ping", "tools-list", "dns-rebinding-protection"],
  "2026-07-28": [
    "server-stateless",
    "tools-list",
    "dns-rebinding-protection",
    "caching",
    "http-header-validation",
    "input-required-result-unsupported-methods",
  ],
};
/** What the suite says of a check that this server gives it nothing to try on. */
const NOT_HERE = /Not testable|(prompts|resources)\/[a-z/]+ returned JSON-RPC error -32601/;

const main = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));
const place = mkdtempSync(join(tmpdir(), "holdfast-conformance-"));
mkdirSync(join(place, ".holdfast"));

const isOld = Number(process.versions.node.split(".")[0]) < OLDEST_NODE;
const bin = join(place, "node_modules", ".bin");

/** Its output, whatever its exit code: that is not 0 when a check fails. */
function run(command, args) {
  return new Promise((resolve, reject) => {
    execFile(command, args, { cwd: place, maxBuffer: 64 << 20 }, (error, stdout, stderr) => {
      if (typeof error?.code === "string") reject(error);
      else resolve(`${stdout}${stderr}`);
    });
  });
}

async function checksOf(url, revision, scenario) {
  const words = ["server", "--url", url, "--spec-version", revision, "--scenario", scenario, "--timeout", "120000"];
  const node = isOld ? join(bin, "node") : process.execPath;
  const told = await run(node, [join(bin, "conformance"), ...words, "--verbose"]);
  const from = told.indexOf("[\n");
  if (from < 0) throw new Error(`${scenario}: no result\n${told}`);
  return JSON.parse(told.slice(from, told.indexOf("\n]", from) + 2));
}

function verdict({ status, errorMessage = "" }) {
  if (status !== "FAILURE") return status;
  return NOT_HERE.test(errorMessage) ? "NOT HERE" : "FAILURE";
}

const packages = isOld ? [SUITE, NEWER_NODE] : [SUITE];
await run("npm", ["install", "--no-save", "--no-audit", "--no-fund", "--prefix", place, ...packages]);
const server = spawn(process.execPath, [main, "mcp", "--http", "--port", "0", "--json"], {
  cwd: place,
  stdio: ["ignore", "pipe", "inherit"],
});
process.once("SIGTERM", () => server.kill("SIGTERM"));
let failures = 0;
try {
  const { value } = await createInterface({ input: server.stdout })[Symbol.asyncIterator]().next();
  const { url } = JSON.parse(value);
  for (const [revision, scenarios] of Object.entries(SCENARIOS))
    for (const scenario of scenarios) {
      const counted = {};
      for (const check of await checksOf(url, revision, scenario)) {
        const found = verdict(check);
        counted[found] = (counted[found] ?? 0) + 1;
        if (found !== "FAILURE") continue;
        failures += 1;
        console.log(`  FAILURE ${check.id}: ${check.errorMessage ?? check.description}`);
      }
      console.log(revision, scenario, JSON.stringify(counted));
    }
} finally {
  server.kill("SIGTERM");
  await new Promise((resolve) => server.once("exit", resolve));
  rmSync(place, { recursive: true, force: true });
}
console.log(failures === 0 ? "no check failed" : `${failures} failed`);
process.exitCode = failures === 0 ? 0 : 1;
