// One process takes and releases a lock that nobody else wants. Each contestant has a process of its own, so that none
// runs on code the compiler has shaped for another.
import { startChild } from "../child.mjs";
import { interleave } from "../interleave.mjs";
import { inScratch } from "../scratch.mjs";
import { median, ratioOf } from "../statistics.mjs";
import { perSecond } from "../table.mjs";

const ONE = "shop";
const DEEP = "shop/orders/17";
const SIBLINGS = ["shop/a", "shop/b", "shop/c"];
const TREES = ["shop", "stock", "till"];

const TRIALS = {
  "proper-lockfile": { contestant: "proper-lockfile", keys: ONE },
  "lease-row": { contestant: "lease-row", keys: ONE },
  file: { contestant: "file", keys: ONE },
  "file, key of three segments": { contestant: "file", keys: DEEP },
  "file, 3 keys of one tree": { contestant: "file", keys: SIBLINGS },
  "file, 3 trees": { contestant: "file", keys: TREES },
  sqlite: { contestant: "sqlite", keys: ONE },
  "sqlite, key of three segments": { contestant: "sqlite", keys: DEEP },
  "sqlite, 3 keys of one tree": { contestant: "sqlite", keys: SIBLINGS },
  "sqlite, 3 trees": { contestant: "sqlite", keys: TREES },
  memory: { contestant: "memory", keys: ONE },
};

export const uncontended = {
  title: "acquire + release in one process, nobody else wants it",
  async measure(sizes) {
    const rates = await inScratch((newFolder) => measureRates(newFolder, sizes));
    const against = (trial, peer, goal) => ({
      what: peer === null ? trial : `${trial} : ${peer}`,
      ours: perSecond(median(rates.get(trial))),
      peer: peer === null ? "" : perSecond(median(rates.get(peer))),
      ratio: peer === null ? null : ratioOf(rates.get(trial), rates.get(peer)),
      unit: "×",
      goal,
    });
    return [
      against("file", "proper-lockfile", { atLeast: 5 }),
      against("sqlite", "proper-lockfile", { atLeast: 5 }),
      against("sqlite", "lease-row", { atLeast: 0.4 }),
      ...Object.keys(TRIALS)
        .filter((trial) => trial === "memory" || trial.includes(","))
        .map((trial) => against(trial, null, null)),
    ];
  },
};

async function measureRates(newFolder, { rounds, warmUps, ms }) {
  const children = new Map();
  for (const [trial, { contestant }] of Object.entries(TRIALS))
    children.set(trial, await startChild("pairs.mjs", contestant, newFolder()));
  const rates = await interleave(Object.keys(TRIALS), { rounds, warmUps }, (trial) =>
    children.get(trial).call("rate", { keys: TRIALS[trial].keys, ms }),
  );
  for (const child of children.values()) await child.stop();
  return rates;
}
