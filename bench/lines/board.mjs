// JSON that many processes write at once: increments beside the usual ways, one change among many issues, a long list.
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { startChild } from "../child.mjs";
import { interleave } from "../interleave.mjs";
import { inScratch } from "../scratch.mjs";
import { median, ratioOf } from "../statistics.mjs";
import { milliseconds, perSecond } from "../table.mjs";

const MAIN = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const PROCESSES = 4;
const COUNTERS = {
  ours: "document-counter",
  peer: "lockfile-counter",
  atomic: "atomic-counter",
  lowdb: "lowdb-counter",
  conf: "conf-counter",
};
/** Ways that take no lock: shown for what they lose. */
const NAIVE = { atomic: "write-file-atomic alone", lowdb: "lowdb 7", conf: "conf 15" };

export const board = {
  title: "the board: increments by four processes, a change among many issues, a list of many",
  async measure({ quick }) {
    return inScratch(async (newFolder) => [
      ...(await increments(newFolder, quick)),
      ...(await amongMany(newFolder, quick)),
    ]);
  },
};

async function increments(newFolder, quick) {
  const each = quick ? 250 : 1_000;
  const lost = Object.fromEntries(Object.keys(COUNTERS).map((name) => [name, 0]));
  const rates = await interleave(Object.keys(COUNTERS), { rounds: quick ? 3 : 5, warmUps: 1 }, async (name) => {
    const { rate, missing } = await count(COUNTERS[name], newFolder(), each);
    lost[name] = Math.max(lost[name], missing);
    return rate;
  });
  if (lost.ours > 0) throw new Error(`${lost.ours} increments were lost`);
  const all = (PROCESSES * each).toLocaleString("en-US");
  const shown = (name) => `${perSecond(median(rates.get(name)))}, ${lost[name]} of ${all} lost`;
  const what = `${PROCESSES} processes × ${each} increments`;
  return [
    {
      what: `${what}, durable : proper-lockfile + write-file-atomic, not durable`,
      ours: shown("ours"),
      peer: shown("peer"),
      ratio: ratioOf(rates.get("ours"), rates.get("peer")),
      goal: { atLeast: 2 },
    },
    ...Object.entries(NAIVE).map(([name, title]) => ({
      what: `${what} : ${title}`,
      ours: shown("ours"),
      peer: shown(name),
      ratio: ratioOf(rates.get("ours"), rates.get(name)),
      goal: null,
    })),
  ];
}

async function count(contestant, folder, times) {
  const children = await Promise.all(
    Array.from({ length: PROCESSES }, () => startChild("increments.mjs", contestant, folder)),
  );
  await children[0].call("increment", { times: 1 });
  const start = performance.now();
  await Promise.all(children.map((child) => child.call("increment", { times })));
  const seconds = (performance.now() - start) / 1000;
  const value = await children[0].call("value");
  for (const child of children) await child.stop();
  return { rate: (PROCESSES * times) / seconds, missing: PROCESSES * times + 1 - value };
}

async function amongMany(newFolder, quick) {
  const many = 10_000;
  const few = await openFilled(100, newFolder());
  const full = await openFilled(many, newFolder());
  const times = await interleave(["few", "many"], { rounds: quick ? 5 : 15, warmUps: 2 }, (name) =>
    (name === "few" ? few : full).child.call("update", { count: quick ? 40 : 100 }),
  );
  const lists = await interleave(["list", "node"], { rounds: quick ? 5 : 15, warmUps: 2 }, async (name) =>
    timed(name === "node" ? ["-e", "0"] : [MAIN, "issue", "list", "--json", "--limit", "10000", "--root", full.folder]),
  );
  for (const { child } of [few, full]) await child.stop();
  return [
    {
      what: "a change of one issue, 10,000 : 100",
      ours: milliseconds(median(times.get("many"))),
      peer: milliseconds(median(times.get("few"))),
      ratio: ratioOf(times.get("many"), times.get("few")),
      goal: { atMost: 1.3 },
    },
    {
      what: "issue list of 10,000 : node -e 0",
      ours: milliseconds(median(lists.get("list"))),
      peer: milliseconds(median(lists.get("node"))),
      ratio: ratioOf(lists.get("list"), lists.get("node")),
      goal: { atMost: 5 },
    },
  ];
}

async function openFilled(count, folder) {
  mkdirSync(`${folder}/.holdfast`, { recursive: true });
  const child = await startChild("board.mjs", "board", folder);
  await child.call("fill", { count });
  return { child, folder };
}

function timed(args) {
  const start = performance.now();
  execFileSync(process.execPath, args, { maxBuffer: 64 * 1024 * 1024 });
  return performance.now() - start;
}
