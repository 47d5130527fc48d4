/**
 * The driver of SQLite keeps the files of a closed connection open until its statements are collected as garbage. A sweep
 * that opens thousands of them in one process runs out of descriptors before the engine sees a reason to collect.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** The files are closed by what runs in the turn of the event loop after it. */
export async function collectGarbage(): Promise<void> {
  collect();
  await nextTurn();
}
