// Checks models/lock.pml: the protocol must hold in every reachable state, and each broken variant must be caught
// with the property it is known to break. `--if-available` makes missing tools no failure.
import { execFile, spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const model = fileURLToPath(new URL("lock.pml", import.meta.url));
const EX_USAGE = 64;
const EX_UNAVAILABLE = 69;
// Two searches at a time stay under 2 GB together.
const MEMORY_MB = 900;
const TIME_LIMIT_MS = 300_000;

const PROPERTIES = {
  1: "fences increase",
  2: "one grant at a time",
  3: "only the current grant writes",
  4: "no lost update",
  5: "record whole after repair",
  6: "no live grant taken away",
  7: "no waiter stuck",
  8: "a power cut is survived",
  9: "no crash leaves a corrupt store",
  10: "a stolen grant stays ended",
};
const NO_WAITER_STUCK = 7;

const NOTHING = {
  CLIENTS: 2,
  ROUNDS: 1,
  KILLS: 0,
  FAILS: 0,
  CUTS: 0,
  RESUMES: 1,
  DETACHED: 0,
  BELOW: 0,
  STRICT: 0,
  DELETES: 0,
};
const within = (bounds) => ({ ...NOTHING, ...bounds });

// All kinds of trouble at once need too many states, so several bounds share the work.
const BOUNDS = [
  within({ CLIENTS: 3, KILLS: 1, RESUMES: 0 }),
  within({ CUTS: 2 }),
  within({ KILLS: 1, CUTS: 1, DETACHED: 1, RESUMES: 0 }),
  within({ ROUNDS: 2, KILLS: 1 }),
  within({ CUTS: 1, DETACHED: 1, BELOW: 1 }),
  within({ CUTS: 1, DETACHED: 1 }),
  within({ CLIENTS: 3 }),
  within({ KILLS: 1, FAILS: 1 }),
  within({ KILLS: 1, DETACHED: 1, BELOW: 1 }),
  within({ ROUNDS: 2, KILLS: 1, STRICT: 1 }),
  within({ ROUNDS: 2, DELETES: 1, RESUMES: 0 }),
  within({ KILLS: 1, DELETES: 1 }),
  within({ CLIENTS: 1, ROUNDS: 3, KILLS: 1, CUTS: 1 }),
];

const CRASH = within({ ROUNDS: 2, KILLS: 1 });
const CALM = within({ ROUNDS: 2 });
const CUT = within({ ROUNDS: 2, CUTS: 1, RESUMES: 0 });
const FILED = within({ KILLS: 1, DETACHED: 1, BELOW: 1 });
const DURABLE = within({ CUTS: 1, DETACHED: 1 });
const DURABLE_BELOW = within({ CUTS: 1, DETACHED: 1, BELOW: 1 });
const CUT_AND_CRASH = within({ CLIENTS: 1, ROUNDS: 3, KILLS: 1, CUTS: 1 });
const STRICT = within({ ROUNDS: 2, KILLS: 1, STRICT: 1 });
const DELETED = within({ ROUNDS: 2, DELETES: 1, RESUMES: 0 });
// Each variant is searched for each property it must break; the other properties are not looked at meanwhile.
const BROKEN = [
  { name: "NO_FENCE_CHECK", breaks: [3, 4], bounds: CALM },
  { name: "CHECK_OUTSIDE_GUARD", breaks: [3, 4], bounds: CALM },
  { name: "IGNORE_EXPIRY", breaks: [3], bounds: CALM },
  { name: "STEAL_TWO_STEPS", breaks: [2], bounds: CALM },
  { name: "TAKEOVER_KEEPS_OLD", breaks: [2, 4], bounds: CALM },
  { name: "HEIR_KEEPS_FENCE", breaks: [1], bounds: CALM },
  { name: "RELEASE_UNCONDITIONAL", breaks: [6], bounds: CALM },
  { name: "RENEW_UNGUARDED", breaks: [3], bounds: CALM },
  { name: "WAIT_FOR_RELEASE", breaks: [NO_WAITER_STUCK], bounds: CALM },
  { name: "PID_REUSED", breaks: [NO_WAITER_STUCK], bounds: STRICT },
  { name: "PID_UNSEEN", breaks: [6], bounds: CALM },
  { name: "GUARD_NOT_COMPARED", breaks: [2, 4], bounds: DELETED },
  { name: "GUARD_DELETED_INSIDE", breaks: [2, 4], bounds: DELETED },
  { name: "AUDIT_AFTER", breaks: [5], bounds: CRASH },
  { name: "FILE_FIRST", breaks: [5], bounds: FILED },
  { name: "NO_PENDING", breaks: [5], bounds: FILED },
  { name: "RESERVE_NOT_SYNCED", breaks: [1], bounds: CUT },
  { name: "RESTART_FROM_PAGE", breaks: [1], bounds: CUT },
  { name: "NO_FLOOR", breaks: [1], bounds: CUT },
  { name: "DETACHED_IN_PLACE", breaks: [8], bounds: DURABLE },
  { name: "AUDIT_NOT_SYNCED", breaks: [8], bounds: DURABLE },
  { name: "LOSS_NOT_NOTED", breaks: [9], bounds: CUT_AND_CRASH },
  { name: "STEAL_NOT_SYNCED", breaks: [10], bounds: DURABLE_BELOW },
];

const has = (command) => spawnSync(command, ["-V"], { stdio: "ignore" }).error === undefined;

/** Resolves with what the command printed, however it ended; a missing or killed command shows as `failed`. */
function run(command, args, cwd) {
  return new Promise((resolve) => {
    execFile(command, args, { cwd, timeout: TIME_LIMIT_MS, maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
      resolve({ failed: error !== null, text: `${stdout}${stderr}` });
    });
  });
}

/** Generates, compiles and runs one verifier in a directory of its own. */
async function verify(compiler, defines, compilerFlags, verifierFlags) {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-model-"));
  try {
    copyFileSync(model, join(directory, "lock.pml"));
    const options = Object.entries(defines).map(([name, value]) => `-D${name}=${value}`);
    const steps = [
      ["spin", [`-P${compiler} -E -x c`, ...options, "-a", "lock.pml"]],
      // The partial order reduction is left out: little to gain where every step touches shared state, and the
      // model interrupts its processes with `unless`.
      [compiler, ["-w", "-DSAFETY", "-DNOREDUCE", `-DMEMLIM=${MEMORY_MB}`, ...compilerFlags, "-o", "pan", "pan.c"]],
    ];
    for (const [command, args] of steps) {
      const { failed, text } = await run(command, args, directory);
      if (failed) throw new Error(`${command} failed:\n${text}`);
    }
    const { failed, text } = await run(join(directory, "pan"), verifierFlags, directory);
    const number = (pattern) => Number(pattern.exec(text)?.[1]);
    return {
      text,
      states: number(/^\s*(\S+) states, stored/m),
      depth: number(/depth reached (\d+)/),
      errors: number(/errors: (\d+)/),
      complete: !failed && /Full statespace search/.test(text) && !/not completed|too small|MEMLIM bound/.test(text),
      property: /^pan:1: invalid end state/m.test(text)
        ? NO_WAITER_STUCK
        : number(/^pan:1: assertion violated .*\((\d+)==0\)\) \(at depth/m),
      trail: number(/^pan:1: .*\(at depth (\d+)\)/m),
    };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function checkModel(compiler, bounds) {
  const found = await verify(compiler, bounds, ["-O2", "-DCOLLAPSE"], ["-m10000"]);
  const good = found.errors === 0 && found.complete && found.states > 0;
  const failure = found.errors === 0 ? "FAILED: search cut short" : "FAILED: error found";
  const result = good ? "ok, full state space" : failure;
  const row = [...Object.values(bounds), found.states.toLocaleString("en"), found.depth, result].map(String);
  return { row, good, text: found.text };
}

async function checkBroken(compiler, { name, bounds }, property) {
  // Breadth first, so that the trail is a shortest one. -E: look for the property, not for a stuck waiter.
  const defines = { ...bounds, [name]: 1, ONLY: property };
  const found = await verify(compiler, defines, ["-DBFS"], property === NO_WAITER_STUCK ? ["-w20"] : ["-E", "-w20"]);
  const good = found.errors === 1 && found.property === property;
  const steps = good ? String(found.trail) : "-";
  const row = [name, PROPERTIES[property], steps, good ? "caught" : "FAILED: not caught"];
  return { row, good, text: found.text };
}

function print(title, head, rows) {
  const widths = head.map((cell, column) => Math.max(cell.length, ...rows.map((row) => row[column].length)));
  const rightAligned = (column) => rows.every((row) => /^[\d,-]+$/.test(row[column]));
  const line = (cells) =>
    cells
      .map((cell, column) => (rightAligned(column) ? cell.padStart(widths[column]) : cell.padEnd(widths[column])))
      .join("  ")
      .trimEnd();
  console.log([title, "", line(head), ...rows.map(line), ""].join("\n"));
}

/** Runs the jobs on at most two cores and returns their results in order. */
async function all(jobs) {
  const results = [];
  let next = 0;
  const worker = async () => {
    while (next < jobs.length) {
      const index = next++;
      results[index] = await jobs[index]();
    }
  };
  await Promise.all(Array.from({ length: Math.min(2, availableParallelism()) }, worker));
  return results;
}

async function main(args) {
  const unknown = args.find((arg) => arg !== "--if-available");
  if (unknown !== undefined) {
    console.error(`unknown option ${unknown}; usage: node models/run.mjs [--if-available]`);
    return EX_USAGE;
  }
  const compiler = ["gcc", "cc"].find(has);
  const packages = [...(has("spin") ? [] : ["spin"]), ...(compiler ? [] : ["gcc", "libc6-dev"])];
  if (packages.length > 0) {
    console.error(`The model was not checked: it needs the Debian packages ${packages.join(", ")}`);
    console.error(`Install them: apt install ${packages.join(" ")}`);
    return args.includes("--if-available") ? 0 : EX_UNAVAILABLE;
  }

  const started = Date.now();
  const results = await all([
    ...BOUNDS.map((bounds) => () => checkModel(compiler, bounds)),
    ...BROKEN.flatMap((variant) => variant.breaks.map((property) => () => checkBroken(compiler, variant, property))),
  ]);

  const rows = results.map(({ row }) => row);
  const boundNames = Object.keys(BOUNDS[0]).map((name) => name.toLowerCase());
  print("The protocol", [...boundNames, "states", "depth", "result"], rows.slice(0, BOUNDS.length));
  print("Broken on purpose", ["variant", "breaks", "steps", "result"], rows.slice(BOUNDS.length));

  const bad = results.filter(({ good }) => !good);
  for (const { row, text } of bad) console.error(`--- ${row.join(" ")}\n${text}`);
  const seconds = ((Date.now() - started) / 1000).toFixed(1);
  console.log(`${results.length - bad.length} of ${results.length} as expected, in ${seconds} s`);
  return bad.length === 0 ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));
