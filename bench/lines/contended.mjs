// Sixteen processes want one key, and each holds it for 2 ms. All start together; after a run-in, a window is measured.
import { startChild } from "../child.mjs";
import { interleave } from "../interleave.mjs";
import { inScratch } from "../scratch.mjs";
import { sharedMs } from "../shared-clock.mjs";
import { median, quantile, ratioOf, spreadOf } from "../statistics.mjs";
import { digits, milliseconds, perSecond } from "../table.mjs";

const PROCESSES = 16;
const HOLD_MS = 2;
const KEY = "shop";
const LIMIT = "kernel-lock";
const POLLING = "proper-lockfile-10ms";
const OURS = ["file", "sqlite"];
/** Shown for what the goals leave to everything that a lock has besides a line. */
const FLOOR = "bare-line";

export const contended = {
  title: `${PROCESSES} processes want one key, each holds it ${HOLD_MS} ms`,
  async measure({ quick }) {
    const names = [LIMIT, POLLING, FLOOR, ...OURS];
    const found = await inScratch((newFolder) => contendInTurn(names, newFolder, quick));
    return [...OURS, FLOOR].flatMap((name) => rowsOf(name, found));
  },
};

function rowsOf(name, found) {
  const of = (contestant, field) => found.get(contestant).map((round) => round[field]);
  const against = (what, peer, field, show, goal) => ({
    what: `${name}: ${what}`,
    ours: show(median(of(name, field))),
    peer: `${peer} ${show(median(of(peer, field)))}`,
    ratio: ratioOf(of(name, field), of(peer, field)),
    goal,
  });
  const rows = [
    against("sections", LIMIT, "perSecond", perSecond, { atLeast: 0.9 }),
    {
      what: `${name}: busiest : idlest process`,
      ours: "",
      peer: [LIMIT, POLLING].map((peer) => `${peer} ${digits(median(of(peer, "fairness")))}`).join(", "),
      ratio: spreadOf(of(name, "fairness")),
      goal: { atMost: 1.3 },
    },
    against("release → next in, p50", POLLING, "handOverP50", milliseconds, { atMost: 0.6 }),
    against("release → next in, p50", LIMIT, "handOverP50", milliseconds, null),
    against("release → next in, p99", POLLING, "handOverP99", milliseconds, null),
    against("CPU of all, per second", POLLING, "cpuMsPerSecond", milliseconds, { atMost: 0.5 }),
  ];
  return name === FLOOR ? rows.map((row) => ({ ...row, goal: null })) : rows;
}

/** Every contestant has its processes, which are measured again and again, in turn with those of the others. */
export async function contendInTurn(names, folderOf, quick) {
  const plan = quick
    ? { rounds: 1, warmUpMs: 2_500, runInMs: 1_500, windowMs: 2_000 }
    : { rounds: 5, warmUpMs: 10_000, runInMs: 1_500, windowMs: 4_000 };
  const crowds = new Map();
  for (const name of names) crowds.set(name, await gather(name, folderOf(), plan));
  const found = await interleave(names, { rounds: plan.rounds, warmUps: quick ? 0 : 1 }, (name) =>
    contend(name, crowds.get(name), plan),
  );
  for (const crowd of crowds.values()) await Promise.all(crowd.map((child) => child.stop()));
  return found;
}

/**
 * Each works alone for a while, then all fight for the key, without pauses so that they meet often, and as they will when
 * it counts: by then the code of it all is compiled.
 */
async function gather(name, folder, { warmUpMs }) {
  const crowd = await Promise.all(Array.from({ length: PROCESSES }, () => startChild("contender.mjs", name, folder)));
  await Promise.all(crowd.map((child) => child.call("warmUp", warmUpMs)));
  for (const holdMs of [0, HOLD_MS]) {
    const from = sharedMs();
    const rush = { key: KEY, holdMs, from, until: from + warmUpMs };
    await Promise.all(crowd.map((child) => child.call("contend", rush)));
  }
  return crowd;
}

async function contend(name, crowd, { runInMs, windowMs }) {
  const from = sharedMs() + runInMs;
  const window = { key: KEY, holdMs: HOLD_MS, from, until: from + windowMs };
  const reports = await Promise.all(crowd.map((child) => child.call("contend", window)));
  return evaluate(name, reports, window);
}

function evaluate(name, reports, { from, until }) {
  const within = ({ enteredAt }) => enteredAt >= from && enteredAt < until;
  const counts = reports.map(({ sections }) => sections.filter(within).length);
  const sections = reports.flatMap((report) => report.sections).sort((a, b) => a.enteredAt - b.enteredAt);
  const handOvers = [];
  for (const [at, section] of sections.entries()) {
    const before = sections[at - 1];
    if (before === undefined || !within(section)) continue;
    const gap = section.enteredAt - before.leftAt;
    if (gap < 0) throw new Error(`${name}: two processes held the key at once`);
    handOvers.push(gap);
  }
  const seconds = (until - from) / 1000;
  return {
    perSecond: counts.reduce((sum, count) => sum + count, 0) / seconds,
    fairness: Math.max(...counts) / Math.max(1, Math.min(...counts)),
    handOverP50: quantile(handOvers, 0.5),
    handOverP99: quantile(handOvers, 0.99),
    cpuMsPerSecond: reports.reduce((sum, report) => sum + report.cpuMs, 0) / seconds,
  };
}
