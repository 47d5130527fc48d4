// The most memory that the commands on snapshots have, with many small files as a multiple of that with few. Linux only.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { inScratch } from "../scratch.mjs";

const MAIN = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const PEAK = new URL("../peak-memory.mjs", import.meta.url).href;
const PER_FOLDER = 200;
const CHANGES = 10;

export const snapshotsMemory = {
  title: "peak memory of the commands on snapshots, many small files and few",
  async measure({ few, many }) {
    const [small, big] = await inScratch(async (newFolder) => [peaksOf(newFolder(), few), peaksOf(newFolder(), many)]);
    return Object.keys(small).map((what) => {
      const ratio = big[what] / small[what];
      return {
        what,
        ours: `${big[what].toFixed(0)} MiB with ${many.toLocaleString("en-US")}`,
        peer: `${small[what].toFixed(0)} MiB with ${few.toLocaleString("en-US")}`,
        ratio: { value: ratio, low: ratio, high: ratio },
        goal: null,
      };
    });
  },
};

/** MiB by command, each measured once in a workspace of its own size. */
function peaksOf(root, files) {
  const payload = join(root, "main");
  fill(payload, files);
  const peaks = {};
  const holdfast = (words, what) => {
    const peak = join(root, "peak");
    const answer = execFileSync(process.execPath, ["--import", PEAK, MAIN, ...words, "--json"], {
      cwd: root,
      env: { ...process.env, BENCH_PEAK: peak },
      encoding: "utf8",
      maxBuffer: 1 << 26,
    });
    if (what !== undefined) peaks[what] = Number(readFileSync(peak, "utf8")) / 1024;
    return JSON.parse(answer).data;
  };
  holdfast(["init"]);
  holdfast(["worktree", "add", "main"]);
  const first = holdfast(["snapshot", "main"], "snapshot, the first");
  change(payload, files, "changed");
  const next = holdfast(["snapshot", "main"], `snapshot, ${CHANGES} files changed`);
  holdfast(["restore", first.snapshot_id, "--to", "copy"], "restore --to");
  change(payload, files, "changed again");
  holdfast(["restore", first.snapshot_id, "--inplace"], `restore --inplace, ${CHANGES} files changed`);
  holdfast(["verify", "--all"], "verify --all");
  holdfast(["gc"], "gc");
  holdfast(["history"], "history");
  holdfast(["diff", first.snapshot_id, next.snapshot_id], `diff, ${CHANGES} files changed`);
  holdfast(["doctor"], "doctor");
  return peaks;
}

function fill(folder, files) {
  for (let at = 0; at < files; at += 1) {
    if (at % PER_FOLDER === 0) mkdirSync(placeOf(folder, at), { recursive: true });
    writeFileSync(join(placeOf(folder, at), `file-${at}`), `content ${at}`);
  }
}

function change(folder, files, content) {
  for (let at = 0; at < files; at += files / CHANGES) writeFileSync(join(placeOf(folder, at), `file-${at}`), content);
}

function placeOf(folder, at) {
  return join(folder, `part-${Math.floor(at / PER_FOLDER)}`);
}
