// Does a lock get slower because others are held? Two stores, one with 10 unrelated locks and one with many, half of
// them trees of their own and half siblings of the key that is measured.
import { startChild } from "../child.mjs";
import { databaseIn } from "../contestants/open.mjs";
import { copyLocks } from "../copy-locks.mjs";
import { interleave } from "../interleave.mjs";
import { inScratch } from "../scratch.mjs";
import { median, ratioOf } from "../statistics.mjs";
import { perSecond } from "../table.mjs";

const TREE = "crowd";
const KEYS = { "in a tree of its own": "lone", "beside its siblings": `${TREE}/lone` };

export const growth = {
  title: "acquire + release while unrelated locks are held: the cost with many, as a multiple of the cost with ten",
  async measure(sizes) {
    const rows = [];
    for (const store of ["file", "sqlite"])
      rows.push(...(await inScratch((newFolder) => compare(store, newFolder, sizes))));
    return rows;
  },
};

async function compare(store, newFolder, { few, many, rounds, warmUps, ms }) {
  const stores = {
    few: await openCrowded(store, few, newFolder()),
    many: await openCrowded(store, many[store], newFolder(), { isCopied: store === "sqlite" }),
  };
  const rows = [];
  for (const [place, keys] of Object.entries(KEYS)) {
    const rates = await interleave(["few", "many"], { rounds, warmUps }, (name) =>
      stores[name].child.call("rate", { keys, ms }),
    );
    rows.push({
      what: `${store}: ${place}`,
      ours: `${perSecond(median(rates.get("many")))} with ${many[store].toLocaleString("en-US")}`,
      peer: `${perSecond(median(rates.get("few")))} with ${few}`,
      ratio: ratioOf(rates.get("few"), rates.get("many")),
      goal: { atMost: 1.5 },
    });
  }
  for (const { child, crowd } of Object.values(stores)) {
    await child.stop();
    await crowd.kill();
  }
  return rows;
}

/** A store in which so many locks are held by a live process, and a process to measure it with. */
async function openCrowded(store, count, folder, { isCopied = false } = {}) {
  const crowd = await startChild("crowd.mjs", `${store}-at-rest`, folder);
  const half = count / 2;
  if (isCopied) {
    await crowd.call("hold", { tree: TREE, others: 1, siblings: 1 });
    copyLocks(databaseIn(folder), { tree: TREE, others: half, siblings: half });
  } else await crowd.call("hold", { tree: TREE, others: half, siblings: half });
  return { crowd, child: await startChild("pairs.mjs", store, folder) };
}
