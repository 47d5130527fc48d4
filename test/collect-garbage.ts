/**
 * The driver of SQLite keeps the files of a closed connection open until its statements are collected as garbage. A sweep
 * that opens thousands of them in one process runs out of descriptors before the engine sees a reason to collect.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

export function collectGarbage(): void {
  collect();
}
