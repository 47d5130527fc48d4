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
  async measure(sizes) {
    return inScratch(async (newFolder) => [
      ...(await increments(newFolder, sizes)),
      ...(await amongMany(newFolder, sizes)),
    ]);
  },
};

async function increments(newFolder, { each, rounds, warmUps }) {
  const lost = Object.fromEntries(Object.keys(COUNTERS).map((name) => [name, 0]));
  const rates = await interleave(Object.keys(COUNTERS), { rounds, warmUps }, async (name) => {
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

async function amongMany(newFolder, sizes) {
  const few = await openFilled(sizes.few, newFolder());
  const full = await openFilled(sizes.many, newFolder());
  const plan = { rounds: sizes.manyRounds, warmUps: sizes.manyWarmUps };
  const times = await interleave(["few", "many"], plan, (name) =>
    (name === "few" ? few : full).child.call("update", { count: sizes.updates }),
  );
  const lists = await interleave(["list", "node"], plan, async (name) =>
    timed(
      name === "node"
        ? ["-e", "0"]
        : [MAIN, "issue", "list", "--json", "--limit", String(sizes.many), "--root", full.folder],
    ),
  );
  for (const { child } of [few, full]) await child.stop();
  const many = sizes.many.toLocaleString("en-US");
  return [
    {
      what: `a change of one issue, ${many} : ${sizes.few}`,
      ours: milliseconds(median(times.get("many"))),
      peer: milliseconds(median(times.get("few"))),
      ratio: ratioOf(times.get("many"), times.get("few")),
      goal: { atMost: 1.3 },
    },
    {
      what: `issue list of ${many} : node -e 0`,
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
