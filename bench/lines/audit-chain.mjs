// Does an acquire get slower as the audit trail grows? One store keeps one chain that is long, the other starts a new
// chain in each round, so that it is always short.
import { startChild } from "../child.mjs";
import { interleave } from "../interleave.mjs";
import { inScratch } from "../scratch.mjs";
import { median, ratioOf } from "../statistics.mjs";
import { microseconds } from "../table.mjs";

const ENTRIES_PER_PAIR = 2;

export const auditChain = {
  title: "acquire with a long audit chain behind it, as a multiple of the time with a short one",
  async measure(sizes) {
    const rows = [];
    for (const store of ["file", "sqlite"]) rows.push(await inScratch((newFolder) => compare(store, newFolder, sizes)));
    return rows;
  },
};

async function compare(store, newFolder, sizes) {
  const { pairsBefore, pairs, rounds } = sizes;
  const long = await startChild("pairs.mjs", store, newFolder());
  const short = await startChild("pairs.mjs", store, newFolder());
  await long.call("repeat", { keys: "long", count: sizes.long / ENTRIES_PER_PAIR });
  await short.call("repeat", { keys: "warm-up", count: pairsBefore });

  const measure = async (name, round) => {
    if (name === "long") return long.call("latency", { keys: "long", count: pairs });
    const keys = `short-${round}`;
    await short.call("repeat", { keys, count: sizes.short / ENTRIES_PER_PAIR });
    return short.call("latency", { keys, count: pairs });
  };
  const times = await interleave(["short", "long"], { rounds }, measure);
  await long.stop();
  await short.stop();
  return {
    what: store,
    ours: `${microseconds(median(times.get("long")))} after ${sizes.long.toLocaleString("en-US")} entries`,
    peer: `${microseconds(median(times.get("short")))} after ${sizes.short.toLocaleString("en-US")}`,
    ratio: ratioOf(times.get("long"), times.get("short")),
    goal: { atMost: 1.2 },
  };
}
