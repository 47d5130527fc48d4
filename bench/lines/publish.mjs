// Publishing a tree, beside a bare script that writes, syncs, renames and syncs the same files: no lock, no hash, no
// manifest. And does memory grow with the tree? Each measurement is one publish over an existing target, under a lease that
// is in hand; once also with taking and releasing the lock.
import { startChild } from "../child.mjs";
import { interleave } from "../interleave.mjs";
import { inScratch } from "../scratch.mjs";
import { median, ratioOf } from "../statistics.mjs";
import { milliseconds } from "../table.mjs";

const LINES = [{ files: 1 }, { files: 1, takesLock: true }, { files: 100 }, { files: 10_000 }];
const SMALL_TREE = 1_000;
const BIG_TREE = 100_000;
const BIG_TREE_QUICK = 20_000;
const FILE_BYTES = 1_000;

export const publish = {
  title: "a tree of small files published, as a multiple of a bare script that writes, syncs, renames and syncs",
  async measure({ quick }) {
    const rows = [];
    for (const line of LINES) rows.push(await inScratch((newFolder) => compare(line, newFolder, quick)));
    rows.push(await inScratch((newFolder) => memory(newFolder, quick)));
    return rows;
  },
};

async function compare({ files, takesLock = false }, newFolder, quick) {
  const names = ["bare-script", "publisher"];
  const children = new Map();
  for (const name of names) children.set(name, await startChild("publisher.mjs", name, newFolder()));
  // What takes a millisecond is measured once the engine has compiled it, on both sides.
  const rounds = files > 1_000 ? (quick ? 2 : 5) : quick ? 20 : files === 1 ? 300 : 60;
  const warmUps = files > 1_000 ? 1 : files === 1 ? 200 : 20;
  const times = await interleave(names, { rounds, warmUps }, (name) =>
    children.get(name).call("publish", { files, bytes: FILE_BYTES, takesLock }),
  );
  for (const child of children.values()) await child.stop();
  return {
    what: `${files.toLocaleString("en-US")} file${files === 1 ? "" : "s"}${takesLock ? ", and its lock" : ""}`,
    ours: milliseconds(median(times.get("publisher"))),
    peer: milliseconds(median(times.get("bare-script"))),
    ratio: ratioOf(times.get("publisher"), times.get("bare-script")),
    goal: { atMost: 1.3 },
  };
}

/**
 * A process that publishes one big tree beside one that publishes as many files in small trees: the engine lets its heap
 * grow with the work done, whatever is kept, so both do the same work.
 */
async function memory(newFolder, quick) {
  const peak = async (files, times) => {
    const child = await startChild("publisher.mjs", "publisher", newFolder());
    for (let time = 0; time < times; time += 1) await child.call("publish", { files, bytes: FILE_BYTES });
    const { maxRSS } = await child.call("usage");
    await child.stop();
    return maxRSS / 1024;
  };
  const big = quick ? BIG_TREE_QUICK : BIG_TREE;
  const small = await peak(SMALL_TREE, big / SMALL_TREE);
  const large = await peak(big, 1);
  const ratio = large / small;
  return {
    what: "peak memory",
    ours: `${large.toFixed(0)} MiB for a tree of ${big.toLocaleString("en-US")}`,
    peer: `${small.toFixed(0)} MiB for trees of ${SMALL_TREE.toLocaleString("en-US")}`,
    ratio: { value: ratio, low: ratio, high: ratio },
    goal: { atMost: 1.3 },
  };
}
