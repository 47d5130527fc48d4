import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, it } from "vitest";
import { expectBudgets } from "./table.fixture.js";

const CLIENT = fileURLToPath(new URL("./client.fixture.mjs", import.meta.url));
const COUNTER = new URL("./counter.fixture.mjs", import.meta.url).href;
const SYNCS = "fsync,fdatasync";
/** The marks of the client show as one of these; not every processor has all of them. */
const MARKS = "?access,?faccessat,?faccessat2";

interface Counted {
  readonly guards: number;
  readonly transactions: number;
  readonly syncedCommits: number;
  readonly syncs: number;
}

const isLinux = process.platform === "linux";
const mayTrace = isLinux && canTrace();

describe.each(["file", "sqlite"] as const)("budgets of the %s store", (kind) => {
  // kills: detached-poll (sqlite)
  it.skipIf(!isLinux)("each operation takes as many transactions and syncs as recorded (needs Linux)", () =>
    inFolder(kind, (args) => {
      const answer = execFileSync(process.execPath, ["--import", COUNTER, ...args], { encoding: "utf8" });
      const counted = Object.entries(JSON.parse(answer) as Record<string, Counted>);
      const found = counted.map(([operation, { guards, transactions, syncedCommits, syncs }]) => [
        operation,
        { transactions: kind === "file" ? guards : transactions, syncs: syncs + syncedCommits },
      ]);
      expectBudgets(kind, Object.fromEntries(found));
    }),
  );

  it.skipIf(!mayTrace)("the kernel gets as many sync calls as recorded (needs strace that may trace)", () =>
    inFolder(kind, (args, folder) => {
      const trace = join(folder, "trace");
      const filter = `trace=${SYNCS},${MARKS}`;
      execFileSync("strace", ["-f", "-o", trace, "-e", filter, process.execPath, ...args], { stdio: "ignore" });
      expectBudgets(kind, syncsIn(readFileSync(trace, "utf8")));
    }),
  );
});

/** Hands `work` the arguments that start the client on a new store. */
function inFolder(kind: "file" | "sqlite", work: (args: readonly string[], folder: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-budgets-"));
  const out = join(folder, "published");
  mkdirSync(out);
  try {
    work([CLIENT, `${kind}:${join(folder, kind === "file" ? "store" : "store.db")}`, out], folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A line begins with the number of its process; a call that another one interrupts in the trace has a second line, without it. */
function syncsIn(trace: string): Record<string, { syncs: number }> {
  const found: Record<string, { syncs: number }> = {};
  let current: { syncs: number } | null = null;
  for (const line of trace.split("\n")) {
    const [, moment, operation = ""] = /"\/holdfast-budget\/(begin|end)\/([^/]*)\//.exec(line) ?? [];
    if (moment === "begin") {
      current = { syncs: 0 };
      found[operation] = current;
    } else if (moment === "end") current = null;
    else if (current !== null && /^\d+\s+(fsync|fdatasync)\(/.test(line)) current.syncs += 1;
  }
  return found;
}

function canTrace(): boolean {
  return (
    spawnSync("strace", ["-f", "-o", "/dev/null", "-e", `trace=${SYNCS}`, process.execPath, "-e", "0"]).status === 0
  );
}
