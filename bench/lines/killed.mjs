// The holder is killed with SIGKILL, half a minute before its lease ends, while another process stands in line: how long
// until that one is in? Each heir is the next victim. Processes are started in batches between the kills, never during.
import { setTimeout as sleep } from "node:timers/promises";
import { openHoldfast } from "../../dist/index.js";
import { startChild } from "../child.mjs";
import { storeIn } from "../contestants/open.mjs";
import { inScratch } from "../scratch.mjs";
import { sharedMs } from "../shared-clock.mjs";
import { median, quantile, spreadOf } from "../statistics.mjs";
import { milliseconds } from "../table.mjs";

const KEY = "shop";
/** The kill comes at any moment between two looks of the waiter. */
const LONGEST_PAUSE_MS = 150;

export const killed = {
  title: "holder killed (SIGKILL, 30 s lease) → the waiter in line is in",
  async measure({ kills, batch }) {
    const rows = [];
    for (const store of ["file", "sqlite"]) {
      const times = await inScratch((newFolder) => chainOfHeirs(store, newFolder(), kills, batch));
      rows.push({
        what: `${store}: p99 of ${kills}`,
        ours: `p50 ${milliseconds(median(times))}`,
        peer: "",
        ratio: { ...spreadOf(times), value: quantile(times, 0.99) },
        unit: " ms",
        goal: { atMost: 250 },
      });
    }
    return rows;
  },
};

async function chainOfHeirs(store, folder, kills, batch) {
  const onlooker = await openHoldfast({ store: storeIn(store, folder) });
  let heirs = await startHeirs(store, folder, batch);
  let holder = heirs.pop();
  await holder.call("inherit", KEY);
  const times = [];
  while (times.length < kills) {
    if (heirs.length === 0) heirs = await startHeirs(store, folder, batch);
    const heir = heirs.pop();
    const entered = heir.call("inherit", KEY);
    await untilWaiting(onlooker);
    await sleep(Math.random() * LONGEST_PAUSE_MS);
    const killedAt = sharedMs();
    await holder.kill();
    times.push((await entered) - killedAt);
    holder = heir;
  }
  for (const child of [holder, ...heirs]) await child.kill();
  await onlooker.close();
  return times;
}

function startHeirs(store, folder, batch) {
  return Promise.all(Array.from({ length: batch }, () => startChild("heir.mjs", store, folder)));
}

async function untilWaiting(onlooker) {
  while ((await onlooker.inspect(KEY)).waiters.length === 0) await sleep(2);
}
