// Many processes (sixteen, in a full run) want one key, and each holds it for 2 ms. All start together; after a run-in, a window is measured.
//
// One that polls mostly finds the key that it has just released itself, while the others sleep, and that is soon done. So
// the way from one process to another is shown beside the way to whoever comes next, with how often the two are the same.
import { startChild } from "../child.mjs";
import { interleave } from "../interleave.mjs";
import { inScratch } from "../scratch.mjs";
import { sharedMs } from "../shared-clock.mjs";
import { median, quantile, ratioOf, spreadOf } from "../statistics.mjs";
import { digits, milliseconds, perSecond } from "../table.mjs";

const HOLD_MS = 2;
const KEY = "shop";
const LIMIT = "kernel-lock";
const POLLING = "proper-lockfile-10ms";
const OURS = ["file", "sqlite"];
/** Shown for what the goals leave to everything that a lock has besides a line. */
const FLOOR = "bare-line";

export const contended = {
  title: `many processes want one key, each holds it ${HOLD_MS} ms`,
  async measure(sizes) {
    const names = [LIMIT, POLLING, FLOOR, ...OURS];
    const found = await inScratch((newFolder) => contendInTurn(names, newFolder, sizes));
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
  const besides = (what, field, peers, goal) => ({
    what: `${name}: ${what}`,
    ours: "",
    peer: peers.map((peer) => `${peer} ${digits(median(of(peer, field)))}`).join(", "),
    ratio: spreadOf(of(name, field)),
    goal,
  });
  const rows = [
    against("sections", LIMIT, "perSecond", perSecond, { atLeast: 0.9 }),
    besides("busiest : idlest process", "fairness", [LIMIT, POLLING], { atMost: 1.3 }),
    against("release → next in, p50", POLLING, "handOverP50", milliseconds, { atMost: 0.6 }),
    against("release → next in, p50", LIMIT, "handOverP50", milliseconds, null),
    against("release → next in, p99", POLLING, "handOverP99", milliseconds, null),
    against("CPU of all, per second", POLLING, "cpuMsPerSecond", milliseconds, { atMost: 0.5 }),
    against("release → another one in, p50", POLLING, "toAnotherP50", milliseconds, null),
    besides("part that went to the releaser", "kept", [POLLING], null),
  ];
  return name === FLOOR ? rows.map((row) => ({ ...row, goal: null })) : rows;
}

/** In each round every contestant has new processes, which are warmed up and measured at once. */
export async function contendInTurn(names, folderOf, plan) {
  return interleave(names, { rounds: plan.rounds, warmUps: 0 }, async (name) => {
    const crowd = await gather(name, folderOf(), plan);
    const measured = await contend(name, crowd, plan);
    await Promise.all(crowd.map((child) => child.stop()));
    return measured;
  });
}

/**
 * Each works alone for a while, then two, four and all of them fight for a key, without pauses so that they meet often, and
 * at last as they will when it counts. What a process does alone is not all that it does in a line, and one in a long line
 * has few turns: without the small ones its code would still be compiled, and thrown away again, when it counts. No rest comes
 * between that and the measuring: in processes that rest for some seconds the engine throws away what it has compiled.
 */
async function gather(name, folder, { processes, warmUpMs }) {
  const crowd = await Promise.all(Array.from({ length: processes }, () => startChild("contender.mjs", name, folder)));
  await Promise.all(crowd.map((child) => child.call("warmUp", warmUpMs)));
  for (const size of [2, 4]) {
    const keyOf = (at) => `${KEY}-${size}-${Math.floor(at / size)}`;
    await rush(crowd, keyOf, 0, windowFrom(sharedMs(), warmUpMs));
  }
  for (const holdMs of [0, HOLD_MS]) await rush(crowd, () => KEY, holdMs, windowFrom(sharedMs(), warmUpMs));
  return crowd;
}

async function contend(name, crowd, { runInMs, windowMs }) {
  const window = windowFrom(sharedMs() + runInMs, windowMs);
  return evaluate(name, await rush(crowd, () => KEY, HOLD_MS, window), window);
}

function windowFrom(from, ms) {
  return { from, until: from + ms };
}

function rush(crowd, keyOf, holdMs, window) {
  return Promise.all(crowd.map((child, at) => child.call("contend", { key: keyOf(at), holdMs, ...window })));
}

function evaluate(name, reports, { from, until }) {
  const within = ({ enteredAt }) => enteredAt >= from && enteredAt < until;
  const counts = reports.map(({ sections }) => sections.filter(within).length);
  const sections = reports
    .flatMap((report, by) => report.sections.map((section) => ({ ...section, by })))
    .sort((a, b) => a.enteredAt - b.enteredAt);
  const handOvers = [];
  const toAnother = [];
  for (const [at, section] of sections.entries()) {
    const before = sections[at - 1];
    if (before === undefined || !within(section)) continue;
    const gap = section.enteredAt - before.leftAt;
    if (gap < 0) throw new Error(`${name}: two processes held the key at once`);
    handOvers.push(gap);
    if (section.by !== before.by) toAnother.push(gap);
  }
  const seconds = (until - from) / 1000;
  return {
    perSecond: counts.reduce((sum, count) => sum + count, 0) / seconds,
    fairness: Math.max(...counts) / Math.max(1, Math.min(...counts)),
    handOverP50: quantile(handOvers, 0.5),
    handOverP99: quantile(handOvers, 0.99),
    toAnotherP50: quantile(toAnother, 0.5),
    kept: 1 - toAnother.length / handOvers.length,
    cpuMsPerSecond: reports.reduce((sum, report) => sum + report.cpuMs, 0) / seconds,
  };
}
