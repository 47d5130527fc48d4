// Publishing a tree, beside a bare script that writes, syncs, renames and syncs the same files: no lock, no hash, no
// manifest. And does memory grow with the tree? Each measurement is one publish over an existing target, under a lease that
// is in hand; once also with taking and releasing the lock.
import { startChild } from "../child.mjs";
import { interleave } from "../interleave.mjs";
import { inScratch } from "../scratch.mjs";
import { median, ratioOf } from "../statistics.mjs";
import { milliseconds } from "../table.mjs";

const FILE_BYTES = 1_000;

export const publish = {
  title: "a tree of small files published, as a multiple of a bare script that writes, syncs, renames and syncs",
  async measure(sizes) {
    const rows = [];
    for (const tree of sizes.trees) rows.push(await inScratch((newFolder) => compare(tree, newFolder)));
    rows.push(await inScratch((newFolder) => memory(newFolder, sizes.memory)));
    return rows;
  },
};

/** Many rounds go before those of a small tree: what takes a millisecond is measured once both sides are compiled. */
async function compare({ files, takesLock = false, rounds, warmUps }, newFolder) {
  const names = ["bare-script", "publisher"];
  const children = new Map();
  for (const name of names) children.set(name, await startChild("publisher.mjs", name, newFolder()));
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
async function memory(newFolder, sizes) {
  const peak = async (files, times) => {
    const child = await startChild("publisher.mjs", "publisher", newFolder());
    for (let time = 0; time < times; time += 1) await child.call("publish", { files, bytes: FILE_BYTES });
    const { maxRSS } = await child.call("usage");
    await child.stop();
    return maxRSS / 1024;
  };
  const small = await peak(sizes.small, sizes.big / sizes.small);
  const big = await peak(sizes.big, 1);
  const ratio = big / small;
  return {
    what: "peak memory",
    ours: `${big.toFixed(0)} MiB for a tree of ${sizes.big.toLocaleString("en-US")}`,
    peer: `${small.toFixed(0)} MiB for trees of ${sizes.small.toLocaleString("en-US")}`,
    ratio: { value: ratio, low: ratio, high: ratio },
    goal: { atMost: 1.3 },
  };
}
