// Publishing a tree, beside a bare script that writes, syncs, renames and syncs the same files: no lock, no hash, no
// manifest. And does memory grow with the tree? Each measurement is one publish over an existing target.
import { startChild } from "../child.mjs";
import { interleave } from "../interleave.mjs";
import { inScratch } from "../scratch.mjs";
import { median, ratioOf } from "../statistics.mjs";
import { milliseconds } from "../table.mjs";

const SIZES = [1, 100, 10_000];
const SMALL_TREE = 1_000;
const BIG_TREE = 100_000;
const BIG_TREE_QUICK = 20_000;
const FILE_BYTES = 1_000;

export const publish = {
  title: "a tree of small files published, as a multiple of a bare script that writes, syncs, renames and syncs",
  async measure({ quick }) {
    const rows = [];
    for (const files of SIZES) rows.push(await inScratch((newFolder) => compare(files, newFolder, quick)));
    rows.push(await inScratch((newFolder) => memory(newFolder, quick)));
    return rows;
  },
};

async function compare(files, newFolder, quick) {
  const names = ["bare-script", "publisher"];
  const children = new Map();
  for (const name of names) children.set(name, await startChild("publisher.mjs", name, newFolder()));
  const rounds = files > 1_000 ? (quick ? 2 : 5) : quick ? 20 : 60;
  const times = await interleave(names, { rounds, warmUps: files > 1_000 ? 1 : 5 }, (name) =>
    children.get(name).call("publish", { files, bytes: FILE_BYTES }),
  );
  for (const child of children.values()) await child.stop();
  return {
    what: `${files.toLocaleString("en-US")} file${files === 1 ? "" : "s"}`,
    ours: milliseconds(median(times.get("publisher"))),
    peer: milliseconds(median(times.get("bare-script"))),
    ratio: ratioOf(times.get("publisher"), times.get("bare-script")),
    goal: { atMost: 1.3 },
  };
}

/** A process that publishes the one tree beside a process that publishes the other. */
async function memory(newFolder, quick) {
  const peak = async (files) => {
    const child = await startChild("publisher.mjs", "publisher", newFolder());
    await child.call("publish", { files, bytes: FILE_BYTES });
    const { maxRSS } = await child.call("usage");
    await child.stop();
    return maxRSS / 1024;
  };
  const big = quick ? BIG_TREE_QUICK : BIG_TREE;
  const small = await peak(SMALL_TREE);
  const large = await peak(big);
  const ratio = large / small;
  return {
    what: "peak memory",
    ours: `${large.toFixed(0)} MiB for ${big.toLocaleString("en-US")} files`,
    peer: `${small.toFixed(0)} MiB for ${SMALL_TREE.toLocaleString("en-US")}`,
    ratio: { value: ratio, low: ratio, high: ratio },
    goal: { atMost: 1.3 },
  };
}
