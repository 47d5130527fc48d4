// Does a lock get slower because many wait for it? A hand-over in a long line beside one in a short line.
import { startChild } from "../child.mjs";
import { interleave } from "../interleave.mjs";
import { inScratch } from "../scratch.mjs";
import { median, ratioOf } from "../statistics.mjs";
import { microseconds } from "../table.mjs";

const KEY = "shop";

export const longLine = {
  title: "release → next in, in a process in which many wait, as a multiple of the time where ten do",
  async measure(sizes) {
    const rows = [];
    for (const store of ["file", "sqlite"]) rows.push(await inScratch((newFolder) => compare(store, newFolder, sizes)));
    return rows;
  },
};

async function compare(store, newFolder, { few, many, rounds, warmUps, handOversBefore }) {
  const children = new Map();
  for (const waiters of [few, many]) children.set(waiters, await startChild("waiters.mjs", store, newFolder()));
  for (let pairs = 0; pairs < handOversBefore; pairs += 1)
    await children.get(few).call("handOver", { key: KEY, waiters: few });
  const times = await interleave([few, many], { rounds, warmUps }, (waiters) =>
    children.get(waiters).call("handOver", { key: KEY, waiters }),
  );
  for (const child of children.values()) await child.stop();
  return {
    what: store,
    ours: `${microseconds(median(times.get(many)))} with ${many.toLocaleString("en-US")}`,
    peer: `${microseconds(median(times.get(few)))} with ${few}`,
    ratio: ratioOf(times.get(many), times.get(few)),
    goal: { atMost: 1.5 },
  };
}
