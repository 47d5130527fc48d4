/**
 * The renewer thread itself: scans the table of leases, renews those that are due through a store of its own, and
 * writes back when each was last known good. It opens the store only when the first heartbeat is due: a lock that is
 * held for less than one heartbeat costs it nothing.
 */
import { parentPort, workerData } from "node:worker_threads";
import { HoldfastError } from "../../base/errors.js";
import { createSystemClock } from "../../platform/clock.js";
import type { GrantRef, Store } from "../../store/contract.js";
import { openStore } from "../../store/open.js";
import { BeatTable, fromText, KEPT, type Slot } from "./heartbeat-table.js";
import { beatEveryMs, maxStallOf, renewTo } from "./renewer.js";
import type { HeartMessage, HeartOrder, HeartThreadSetup, LongText } from "./thread-renewer.js";

let { storeUrl, storeId, memory, rhythm } = workerData as HeartThreadSetup;
let table = new BeatTable(memory);
const clock = createSystemClock();
const suspect = new Set<string>();
/** Of leases that do not fit a slot, by slot and generation. */
const longTexts = new Map<string, string>();
let store: Promise<Store> | undefined;
/** Renewals that have no answer yet, by slot and generation: one whose tree is stuck keeps no other waiting. */
const underWay = new Map<string, Promise<void>>();
let timer: NodeJS.Timeout | undefined;
/** As the shortest lease needs it. */
let lookEveryMs = Number.POSITIVE_INFINITY;

function nameOf({ index, generation }: Slot): string {
  return `${index}:${generation}`;
}

function say(message: HeartMessage): void {
  parentPort?.postMessage(message);
}

function look(): void {
  table.isBeating = true;
  for (let index = 0; index < table.used && !table.isEnding; index += 1) if (isDue(index)) begin(table.slotAt(index));
  table.isBeating = underWay.size > 0;
}

function begin(slot: Slot): void {
  const name = nameOf(slot);
  // mutant: heart-beats-apart: if (underWay.has(name)) return; → if (underWay.size > 0) return;
  if (underWay.has(name)) return;
  const end = (): void => {
    underWay.delete(name);
    table.isBeating = underWay.size > 0;
  };
  underWay.set(name, beat(slot).finally(end));
}

function isDue(index: number): boolean {
  if (table.stateOf(index) !== KEPT) return false;
  const now = clock().bootMs;
  const leaseMs = table.leaseMsOf(index);
  // mutant: stall: = now - table.progress > maxStallOf(leaseMs, rhythm); → = false;
  const hasStalled = now - table.progress > maxStallOf(leaseMs, rhythm);
  return !hasStalled && now - table.sinceOf(index) >= beatEveryMs(leaseMs, rhythm);
}

async function beat(slot: Slot): Promise<void> {
  const { index } = slot;
  const { leaseMs, renewToMs } = table.beatOf(index);
  const wantedMs = (): number => (isStill(slot) ? table.renewToMsOf(index) : renewToMs);
  try {
    const grants = grantsIn(slot);
    if (grants === null) return;
    const { locks } = await openedStore();
    const renewed = await renewTo(wantedMs, leaseMs, (ms) => locks.renew(grants, ms), clock);
    if (isStill(slot)) table.renewed(index, renewed.since, renewed.leaseMs);
    noteSuspicion(slot, false);
  } catch (error) {
    const isUnknown = !(error instanceof HoldfastError) || error.retryable || error.code === "E_IO";
    if (isUnknown) noteSuspicion(slot, true);
    else if (table.lose(slot)) {
      const { code, message, details } = error;
      say({ kind: "lost", ...slot, code, message, details });
    }
  }
}

/** Null while they are on their way, and when the slot went over to another lease while it was read. */
function grantsIn(slot: Slot): GrantRef[] | null {
  const text = table.textOf(slot.index) || longTexts.get(nameOf(slot));
  return text === undefined || !isStill(slot) ? null : fromText(text);
}

/** One that could not be opened is tried again with the next beat. A lost one is not made anew. */
async function openedStore(): Promise<Store> {
  // mutant: renewer-expects: openStore(storeUrl, {}, clock, storeId); → openStore(storeUrl, {}, clock, storeId.slice(99) || undefined);
  store ??= openStore(storeUrl, {}, clock, storeId);
  try {
    return await store;
  } catch (error) {
    store = undefined;
    throw error;
  }
}

function isStill({ index, generation }: Slot): boolean {
  return table.stateOf(index) === KEPT && table.slotAt(index).generation === generation;
}

function noteSuspicion(slot: Slot, isSuspect: boolean): void {
  const name = nameOf(slot);
  if (suspect.has(name) === isSuspect) return;
  if (isSuspect) suspect.add(name);
  else suspect.delete(name);
  say({ kind: "suspect", ...slot, isSuspect });
}

function run(everyMs: number): void {
  if (everyMs >= lookEveryMs) return;
  clearInterval(timer);
  lookEveryMs = everyMs;
  timer = setInterval(look, everyMs);
}

/** Takes up the work of another heart. */
function serve(setup: HeartThreadSetup): void {
  ({ storeUrl, storeId, memory, rhythm } = setup);
  table = new BeatTable(memory);
}

function rest(): void {
  clearInterval(timer);
  lookEveryMs = Number.POSITIVE_INFINITY;
}

/**
 * Between two steps, never out of the middle of one, nor out of loading the store, which would leave its files open. The
 * store is closed whatever still waits for its guard.
 */
async function end(): Promise<void> {
  rest();
  const opened = await store?.catch(() => undefined);
  await opened?.close();
  // mutant: heart-of-the-last: await Promise.all(underWay.values()); →
  await Promise.all(underWay.values());
  store = undefined;
  suspect.clear();
  longTexts.clear();
  say({ kind: "idle" });
}

function noteLongText({ slot, text }: LongText): void {
  for (const name of longTexts.keys()) if (name.startsWith(`${slot.index}:`)) longTexts.delete(name);
  longTexts.set(nameOf(slot), text);
}

parentPort?.on("message", (order: HeartOrder) => {
  if (order === "rest") rest();
  else if (order === "end") void end();
  else if ("storeUrl" in order) serve(order);
  else if ("lookEveryMs" in order) run(order.lookEveryMs);
  else noteLongText(order);
});
