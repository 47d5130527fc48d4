// Does a lock get slower because many wait for it? A hand-over in a long line beside one in a short line.
import { startChild } from "../child.mjs";
import { interleave } from "../interleave.mjs";
import { inScratch } from "../scratch.mjs";
import { median, ratioOf } from "../statistics.mjs";
import { microseconds } from "../table.mjs";

const FEW = 10;
const MANY = 1_000;
const KEY = "shop";

export const longLine = {
  title: "release → next in, in a process in which many wait, as a multiple of the time where ten do",
  async measure({ quick }) {
    const rows = [];
    for (const store of ["file", "sqlite"]) rows.push(await inScratch((newFolder) => compare(store, newFolder, quick)));
    return rows;
  },
};

async function compare(store, newFolder, quick) {
  const children = new Map();
  for (const waiters of [FEW, MANY]) children.set(waiters, await startChild("waiters.mjs", store, newFolder()));
  for (let pairs = 0; pairs < 50; pairs += 1) await children.get(FEW).call("handOver", { key: KEY, waiters: FEW });
  const times = await interleave([FEW, MANY], { rounds: quick ? 5 : 15, warmUps: 2 }, (waiters) =>
    children.get(waiters).call("handOver", { key: KEY, waiters }),
  );
  for (const child of children.values()) await child.stop();
  return {
    what: store,
    ours: `${microseconds(median(times.get(MANY)))} with ${MANY.toLocaleString("en-US")}`,
    peer: `${microseconds(median(times.get(FEW)))} with ${FEW}`,
    ratio: ratioOf(times.get(MANY), times.get(FEW)),
    goal: { atMost: 1.5 },
  };
}
