/**
 * Frees the descriptors of closed connections. The driver has no way to finalize a statement: SQLite keeps the files of a
 * closed connection open until the engine has collected its statements as garbage, and a program that opens and closes
 * stores allocates too little for the engine to collect in time. So an opening makes the engine collect once enough
 * connections were closed in this thread and not collected since.
 *
 * It does not free a connection whose statements are still referenced. A collection stops the thread for as long as it takes
 * to walk the heap: some five milliseconds in a small program.
 */
import { setImmediate as nextTurn } from "node:timers/promises";

/** Each has up to three descriptors, and 256 is the lowest limit that systems set. */
const CLOSED_AT_MOST = 32;

let closed = 0;
let collections = 0;
let collect: (() => void) | null = null;

/** Counts down when the engine collects by itself. A connection from before the last collection here is not counted. */
const collected = new FinalizationRegistry<number>((collectionsThen) => {
  if (collectionsThen === collections) closed -= 1;
});

export function countClosed(connection: object): void {
  closed += 1;
  collected.register(connection, collections);
}

/** Call it before a connection is opened. The files are closed in the turn of the event loop after the collection. */
export async function freeClosed(): Promise<void> {
  // mutant: sqlite-descriptors: if (closed < CLOSED_AT_MOST) return; → if (closed < 1e9) return;
  if (closed < CLOSED_AT_MOST) return;
  closed = 0;
  collections += 1;
  collect ??= await collector();
  collect();
  await nextTurn();
}

async function collector(): Promise<() => void> {
  const [{ setFlagsFromString }, { runInNewContext }] = await Promise.all([import("node:v8"), import("node:vm")]);
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc") as () => void;
}
