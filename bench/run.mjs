// Measures Holdfast beside its peers: `node bench/run.mjs [--quick] [--check] [NAME…]`. What each line means and how to
// read it is in docs/benchmarks.md. A missed goal is reported, not an error, unless --check asks for that.
import { parseArgs } from "node:util";
import { auditChain } from "./lines/audit-chain.mjs";
import { board } from "./lines/board.mjs";
import { contended } from "./lines/contended.mjs";
import { growth } from "./lines/growth.mjs";
import { jobs, jobsOnPostgres } from "./lines/jobs.mjs";
import { killed } from "./lines/killed.mjs";
import { longLine } from "./lines/long-line.mjs";
import { postgres } from "./lines/postgres.mjs";
import { publish } from "./lines/publish.mjs";
import { snapshots } from "./lines/snapshots.mjs";
import { snapshotsMemory } from "./lines/snapshots-memory.mjs";
import { startUp } from "./lines/start-up.mjs";
import { uncontended } from "./lines/uncontended.mjs";
import { misses, show } from "./table.mjs";

const LINES = {
  uncontended,
  contended,
  killed,
  line: longLine,
  growth,
  audit: auditChain,
  start: startUp,
  publish,
  board,
  snapshots,
  "snapshots-memory": snapshotsMemory,
  jobs,
  "jobs-postgres": jobsOnPostgres,
  postgres,
};

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: "boolean", default: false }, check: { type: "boolean", default: false } },
});
const unknown = positionals.find((name) => !Object.hasOwn(LINES, name));
if (unknown !== undefined) {
  console.error(`There is no benchmark "${unknown}". There are: ${Object.keys(LINES).join(", ")}.`);
  process.exit(2);
}

let missed = 0;
for (const name of positionals.length === 0 ? Object.keys(LINES) : positionals) {
  const { title, measure } = LINES[name];
  console.log(`\n${name}: ${title}`);
  const rows = await measure({ quick: options.quick });
  console.log(show(rows));
  missed += misses(rows);
}
console.log(missed === 0 ? "\nAll goals hold." : `\nGoals missed: ${missed}.`);
if (options.check && missed > 0) process.exitCode = 1;
