// Snapshots of 10,000 files, 180 MB, beside git and restic, each as a command: the first, the next after ten changes, a
// restore, and how large the store is after eleven. Every round starts from nothing. All read the same files; what one has
// written is on the disk before another is measured, or it would pay for it. Nothing is removed before the last round: some
// file systems make new files slowly for minutes after many were removed, and one of them would pay for that too.
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { lstatSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { interleave } from "../interleave.mjs";
import { inScratch } from "../scratch.mjs";
import { median, ratioOf, spreadOf } from "../statistics.mjs";
import { milliseconds } from "../table.mjs";

const MAIN = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const GIT = ["-c", "user.name=bench", "-c", "user.email=bench@example.org", "-c", "gc.auto=0"];
const FILE_BYTES = 18_000;
/** So that a busy machine does not make an hour of it: after this no round is begun. */
const LAST_START_MS = 150_000;

export const snapshots = {
  title: "10,000 files, 180 MB: snapshot, the next after ten changes, restore, size of the store",
  async measure(sizes) {
    const hasRestic = isThere("restic");
    if (!hasRestic) console.log("  restic is not installed (apt-get install restic): its lines are left out");
    return inScratch(async (newFolder) => {
      const model = join(newFolder(), "model");
      fill(model, sizes.files);
      const startedAt = performance.now();
      const rounds = [];
      do {
        rounds.push(await measureRound(newFolder(), model, sizes, hasRestic));
      } while (rounds.length < sizes.rounds && performance.now() - startedAt < LAST_START_MS);
      if (rounds.length < sizes.rounds)
        console.log(`  rounds: ${rounds.length} of ${sizes.rounds}, the machine is slow`);
      return rowsOf(rounds, hasRestic, sizes);
    });
  },
};

/** Snapshots after ten changes: so many beside the peers, then alone up to the last, and the last of these are compared. */
async function measureRound(base, model, { files, restores, beside, alone }, hasRestic) {
  const root = join(base, "workspace");
  const payload = join(root, "main");
  mkdirSync(root);
  execFileSync("cp", ["-a", model, payload]);
  const sync = () => execFileSync("sync", ["-f", base]);
  const timed = (work) => {
    sync();
    return timeOf(work);
  };
  const holdfast = (...words) => run(process.execPath, [MAIN, ...words, "--quiet"], root);
  const git = (...words) =>
    run("git", [...GIT, `--git-dir=${join(base, "git")}`, `--work-tree=${payload}`, ...words], base);
  const restic = (...words) =>
    run("restic", ["-q", "-r", join(base, "restic"), ...words], base, { RESTIC_PASSWORD: "x" });
  holdfast("init");
  holdfast("worktree", "add", "main");
  git("init", "-q");
  if (hasRestic) restic("init");

  const takers = {
    ours: () => holdfast("snapshot", "main"),
    git() {
      git("add", "-A");
      git("commit", "-qm", "x");
    },
    ...(hasRestic ? { restic: () => restic("backup", payload) } : {}),
  };
  const times = { ours: { last: [] }, git: {}, restic: {} };
  for (const [who, take] of Object.entries(takers)) times[who] = { ...times[who], first: [timed(take)], next: [] };
  for (let again = 0; again < beside; again += 1) {
    change(payload, again, files);
    for (const [who, take] of Object.entries(takers)) times[who].next.push(timed(take));
  }
  for (let again = beside; again < beside + alone; again += 1) {
    change(payload, again, files);
    const ms = timed(takers.ours);
    if (again >= alone) times.ours.last.push(ms);
  }
  const history = JSON.parse(execFileSync(process.execPath, [MAIN, "history", "--json"], { cwd: root }));
  const newest = history.data.snapshots.at(-1);
  const restorers = {
    ours(to) {
      const ms = timed(() => holdfast("restore", newest.snapshot_id, "--to", to));
      return { restore: ms, synced: ms };
    },
    restic(to) {
      const ms = timed(() => restic("restore", "latest", "--target", join(root, to)));
      return { restore: ms, synced: ms + timeOf(sync) };
    },
  };
  const who = hasRestic ? ["ours", "restic"] : ["ours"];
  const restored = await interleave(who, { rounds: restores, warmUps: 0 }, (name, turn) =>
    restorers[name](`restored-${turn}-by-${name}`),
  );
  for (const [name, values] of restored)
    for (const what of ["restore", "synced"]) times[name][what] = values.map((value) => value[what]);
  times.size = sizeOf(join(root, ".holdfast", "snapshots")) / (files * FILE_BYTES);
  return times;
}

function rowsOf(rounds, hasRestic, { files }) {
  const of = (who, what) => rounds.flatMap((round) => round[who][what]);
  const row = (what, name, peer, goal) => ({
    what,
    ours: milliseconds(median(of("ours", name))),
    peer: `${milliseconds(median(of(peer, name)))} ${peer}`,
    ratio: ratioOf(of("ours", name), of(peer, name)),
    goal,
  });
  const beside = (what, name, goal) => (hasRestic ? [row(what, name, "restic", goal)] : []);
  return [
    row("first", "first", "git", { atMost: 0.8 }),
    ...beside("first", "first", { atMost: 1 }),
    row("next, ten files changed", "next", "git", null),
    ...beside("next, ten files changed", "next", { atMost: 0.5 }),
    ...beside("restore to a new folder", "restore", { atMost: 1 }),
    ...beside("restore to a new folder, and `sync -f` after restic's", "synced", null),
    {
      what: "the ninth to eleventh beside the second to fourth",
      ours: milliseconds(median(of("ours", "last"))),
      peer: milliseconds(median(of("ours", "next"))),
      ratio: ratioOf(of("ours", "last"), of("ours", "next")),
      goal: { atMost: 1.3 },
    },
    {
      what: "store after eleven, of the payload",
      ours: "",
      peer: "",
      ratio: spreadOf(rounds.map((round) => round.size)),
      goal: files < 10_000 ? null : { atMost: 1.05 }, // Of a small payload the changed files are a large share.
    },
  ];
}

function timeOf(work) {
  const startedAt = performance.now();
  work();
  return performance.now() - startedAt;
}

function fill(folder, files) {
  for (let at = 0; at < files; at += 1) {
    const place = join(folder, `part-${at % 10}`, `section-${at % 100}`);
    if (at < 100) mkdirSync(place, { recursive: true });
    writeFileSync(join(place, `file-${at}.ts`), randomBytes(FILE_BYTES));
  }
}

function change(folder, round, files) {
  for (let count = 0; count < 10; count += 1) {
    const at = (round * 7919 + count * 1237) % files;
    writeFileSync(join(folder, `part-${at % 10}`, `section-${at % 100}`, `file-${at}.ts`), randomBytes(FILE_BYTES));
  }
}

function run(command, words, cwd, env = {}) {
  execFileSync(command, words, { cwd, env: { ...process.env, ...env }, stdio: ["ignore", "ignore", "inherit"] });
}

function isThere(command) {
  try {
    execFileSync(command, ["version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

function sizeOf(folder) {
  let bytes = 0;
  for (const name of readdirSync(folder, { recursive: true })) {
    const stats = lstatSync(join(folder, name));
    if (stats.isFile()) bytes += stats.size;
  }
  return bytes;
}
