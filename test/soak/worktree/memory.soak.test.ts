/**
 * How much memory a snapshot and a restore of a big tree need, beside a small one. What is alive at any time must fit into
 * a heap that could not hold a record of every file. HOLDFAST_SOAK=sample takes smaller trees.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { IS_SAMPLE, sample } from "../../fixtures/sample.fixture.js";

const CHILD = fileURLToPath(new URL("./memory.fixture.mjs", import.meta.url));
const [SMALL, BIG] = IS_SAMPLE ? [500, 3_000] : [10_000, 1_000_000];
const HEAP_MIB = 20;
/** What the engine lets lie about: it grows to this and no further, see docs/snapshots.md. */
const SLACK_MIB = 100;

const HEAP = `--max-old-space-size=${HEAP_MIB}`;

interface Peaks {
  readonly taken: number;
  readonly again: number;
  readonly restored: number;
}

function peaksOf(count: number): Peaks {
  const root = mkdtempSync(join(tmpdir(), "holdfast-memory-"));
  try {
    return JSON.parse(
      execFileSync(process.execPath, [HEAP, CHILD, root, String(count)], { encoding: "utf8" }),
    ) as Peaks;
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

it(`TREE-7: memory does not grow with the tree: ${SMALL.toLocaleString("en-US")} and ${BIG.toLocaleString("en-US")} files${sample("3,000 of 1,000,000 files")}`, () => {
  const [small, big] = [peaksOf(SMALL), peaksOf(BIG)];
  console.log("MiB at most:", { [SMALL]: small, [BIG]: big });
  for (const what of ["taken", "again", "restored"] as const) expect(big[what]).toBeLessThan(small[what] + SLACK_MIB);
});
