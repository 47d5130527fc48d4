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
const FEW = 10;
const MANY = { file: 100_000, sqlite: 1_000_000 };
const MANY_QUICK = { file: 4_000, sqlite: 100_000 };
const KEYS = { "in a tree of its own": "lone", "beside its siblings": `${TREE}/lone` };

export const growth = {
  title: "acquire + release while unrelated locks are held: the cost with many, as a multiple of the cost with ten",
  async measure({ quick }) {
    const rows = [];
    for (const store of ["file", "sqlite"]) {
      const many = (quick ? MANY_QUICK : MANY)[store];
      rows.push(...(await inScratch((newFolder) => compare(store, many, newFolder, quick))));
    }
    return rows;
  },
};

async function compare(store, many, newFolder, quick) {
  const few = await openCrowded(store, FEW, newFolder());
  const full = await openCrowded(store, many, newFolder());
  const rows = [];
  for (const [place, keys] of Object.entries(KEYS)) {
    const rates = await interleave(["few", "many"], { rounds: quick ? 9 : 31, warmUps: 3 }, (name) =>
      (name === "few" ? few : full).child.call("rate", { keys, ms: quick ? 60 : 120 }),
    );
    rows.push({
      what: `${store}: ${place}`,
      ours: `${perSecond(median(rates.get("many")))} with ${many.toLocaleString("en-US")}`,
      peer: `${perSecond(median(rates.get("few")))} with ${FEW}`,
      ratio: ratioOf(rates.get("few"), rates.get("many")),
      goal: { atMost: 1.5 },
    });
  }
  for (const { child, crowd } of [few, full]) {
    await child.stop();
    await crowd.kill();
  }
  return rows;
}

/** A store in which so many locks are held by a live process, and a process to measure it with. */
async function openCrowded(store, count, folder) {
  const crowd = await startChild("crowd.mjs", `${store}-at-rest`, folder);
  const half = count / 2;
  if (store === "sqlite" && count > FEW) {
    await crowd.call("hold", { tree: TREE, others: 1, siblings: 1 });
    copyLocks(databaseIn(folder), { tree: TREE, others: half, siblings: half });
  } else await crowd.call("hold", { tree: TREE, others: half, siblings: half });
  return { crowd, child: await startChild("pairs.mjs", store, folder) };
}
