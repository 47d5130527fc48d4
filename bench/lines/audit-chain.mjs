// Does an acquire get slower as the audit trail grows? One store keeps one chain that is long, the other starts a new
// chain in each round, so that it is always short.
import { startChild } from "../child.mjs";
import { interleave } from "../interleave.mjs";
import { inScratch } from "../scratch.mjs";
import { median, ratioOf } from "../statistics.mjs";
import { microseconds } from "../table.mjs";

const ENTRIES_PER_PAIR = 2;
const SHORT = 1_000;
const LONG = 200_000;
const LONG_QUICK = 20_000;
const MEASURED_PAIRS = 300;

export const auditChain = {
  title: "acquire with a long audit chain behind it, as a multiple of the time with a short one",
  async measure({ quick }) {
    const rows = [];
    for (const store of ["file", "sqlite"])
      rows.push(await inScratch((newFolder) => compare(store, quick ? LONG_QUICK : LONG, newFolder, quick)));
    return rows;
  },
};

async function compare(store, entries, newFolder, quick) {
  const long = await startChild("pairs.mjs", store, newFolder());
  const short = await startChild("pairs.mjs", store, newFolder());
  await long.call("repeat", { keys: "long", count: entries / ENTRIES_PER_PAIR });
  await short.call("repeat", { keys: "warm-up", count: 5_000 });

  const measure = async (name, round) => {
    if (name === "long") return long.call("latency", { keys: "long", count: MEASURED_PAIRS });
    const keys = `short-${round}`;
    await short.call("repeat", { keys, count: SHORT / ENTRIES_PER_PAIR });
    return short.call("latency", { keys, count: MEASURED_PAIRS });
  };
  const times = await interleave(["short", "long"], { rounds: quick ? 5 : 21 }, measure);
  await long.stop();
  await short.stop();
  return {
    what: store,
    ours: `${microseconds(median(times.get("long")))} after ${entries.toLocaleString("en-US")} entries`,
    peer: `${microseconds(median(times.get("short")))} after ${SHORT.toLocaleString("en-US")}`,
    ratio: ratioOf(times.get("long"), times.get("short")),
    goal: { atMost: 1.2 },
  };
}
