// Sixteen processes want one key, and each holds it for 2 ms. All start together; after a run-in, a window is measured.
import { startChild } from "../child.mjs";
import { interleave } from "../interleave.mjs";
import { inScratch } from "../scratch.mjs";
import { sharedMs } from "../shared-clock.mjs";
import { median, quantile, ratioOf, spreadOf } from "../statistics.mjs";
import { digits, milliseconds, perSecond } from "../table.mjs";

const PROCESSES = 16;
const HOLD_MS = 2;
const WARM_UP_PAIRS = 500;
const LIMIT = "kernel-lock";
const POLLING = "proper-lockfile-10ms";
const OURS = ["file", "sqlite"];

export const contended = {
  title: `${PROCESSES} processes want one key, each holds it ${HOLD_MS} ms`,
  async measure({ quick }) {
    const plan = quick
      ? { rounds: 1, warmUpMs: 5_000, runInMs: 1_500, windowMs: 2_000 }
      : { rounds: 3, warmUpMs: 10_000, runInMs: 2_000, windowMs: 5_000 };
    const names = [LIMIT, POLLING, ...OURS];
    const found = await inScratch((newFolder) =>
      interleave(names, { rounds: plan.rounds, warmUps: 0 }, (name) => contend(name, newFolder(), plan)),
    );
    return OURS.flatMap((name) => rowsOf(name, found));
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
  return [
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
}

/** Without pauses the processes meet often, so that the code of waiting and handing over is compiled before it counts. */
export async function contend(name, folder, { warmUpMs, runInMs, windowMs }) {
  const children = await Promise.all(
    Array.from({ length: PROCESSES }, () => startChild("contender.mjs", name, folder)),
  );
  await Promise.all(children.map((child) => child.call("warmUp", WARM_UP_PAIRS)));
  const crowd = { key: "shop", holdMs: 0, from: sharedMs(), until: sharedMs() + warmUpMs };
  await Promise.all(children.map((child) => child.call("contend", crowd)));
  const from = sharedMs() + runInMs;
  const window = { key: "shop", holdMs: HOLD_MS, from, until: from + windowMs };
  const reports = await Promise.all(children.map((child) => child.call("contend", window)));
  await Promise.all(children.map((child) => child.stop()));
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
