// Measures Holdfast beside its peers: `node bench/run.mjs [--quick] [--check] [NAME…]`. What each line means and how to
// read it is in docs/benchmarks.md. A missed goal is reported, not an error, unless --check asks for that.
//
// With --smoke, each line runs at its smallest sizes, to show that it works: one line of output for each, and an exit code of
// 1 when a line throws, hangs, or gives something that is not a figure.
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
import { sizesOf } from "./sizes.mjs";
import { faultsOf, misses, show } from "./table.mjs";

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

const LONGEST_SMOKE_MS = 300_000;

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: "boolean", default: false },
    smoke: { type: "boolean", default: false },
    check: { type: "boolean", default: false },
  },
});
const unknown = positionals.find((name) => !Object.hasOwn(LINES, name));
if (unknown !== undefined) {
  console.error(`There is no benchmark "${unknown}". There are: ${Object.keys(LINES).join(", ")}.`);
  process.exit(2);
}
const names = positionals.length === 0 ? Object.keys(LINES) : positionals;
if (options.smoke) await smoke();
else await measureAll(options.quick ? "quick" : "full");

async function measureAll(scale) {
  let missed = 0;
  for (const name of names) {
    const { title, measure } = LINES[name];
    console.log(`\n${name}: ${title}`);
    const rows = await measure(sizesOf(name, scale));
    console.log(show(rows));
    missed += misses(rows);
  }
  console.log(missed === 0 ? "\nAll goals hold." : `\nGoals missed: ${missed}.`);
  if (options.check && missed > 0) process.exitCode = 1;
}

/** Ends the process itself: a line that failed may have left children behind, which end when this process does. */
async function smoke() {
  const startedAt = performance.now();
  const failed = [];
  for (const name of names) {
    const lineStartedAt = performance.now();
    const report = (text) => console.log(`${name.padEnd(17)} ${secondsSince(lineStartedAt)}  ${text}`);
    const limit = setTimeout(() => {
      report(`FAILED: it has not ended after ${LONGEST_SMOKE_MS / 1000} s`);
      process.exit(1);
    }, LONGEST_SMOKE_MS);
    try {
      const rows = await LINES[name].measure(sizesOf(name, "smoke"));
      const faults = faultsOf(rows);
      if (faults.length > 0) throw new Error(faults.join("; "));
      report(`${rows.length} figures`);
    } catch (error) {
      failed.push(name);
      report(`FAILED: ${error?.stack ?? error}`);
    } finally {
      clearTimeout(limit);
    }
  }
  console.log(
    `${"all".padEnd(17)} ${secondsSince(startedAt)}  ${failed.length === 0 ? "work" : `FAILED: ${failed.join(", ")}`}`,
  );
  process.exit(failed.length === 0 ? 0 : 1);
}

function secondsSince(startedAt) {
  return `${((performance.now() - startedAt) / 1000).toFixed(1).padStart(5)} s`;
}
