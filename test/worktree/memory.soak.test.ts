/** How much memory a snapshot and a restore of a big tree need, beside a small one. HOLDFAST_SOAK=sample takes smaller ones. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const CHILD = fileURLToPath(new URL("../fixtures/worktree-memory.mjs", import.meta.url));
const [SMALL, BIG] = process.env.HOLDFAST_SOAK === "sample" ? [500, 3_000] : [10_000, 200_000];
/** What new contents and folders may take: see docs/snapshots.md. */
const BYTES_A_FILE = 300;
const SLACK_MIB = 80;

interface Peaks {
  readonly taken: number;
  readonly again: number;
  readonly restored: number;
}

function peaksOf(count: number): Peaks {
  const root = mkdtempSync(join(tmpdir(), "holdfast-memory-"));
  try {
    return JSON.parse(execFileSync(process.execPath, [CHILD, root, String(count)], { encoding: "utf8" })) as Peaks;
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

it(`TREE-7: memory does not grow with the tree: ${SMALL.toLocaleString("en-US")} and ${BIG.toLocaleString("en-US")} files`, () => {
  const [small, big] = [peaksOf(SMALL), peaksOf(BIG)];
  console.log("MiB at most:", { [SMALL]: small, [BIG]: big });
  const more = (BIG * BYTES_A_FILE) / 2 ** 20 + SLACK_MIB;
  expect(big.taken).toBeLessThan(small.taken + more);
  expect(big.restored).toBeLessThan(small.restored + more);
});
