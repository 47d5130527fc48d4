// Loaded into a command by `node --import`: at its end it writes the most memory it had, in KiB, to the file that
// BENCH_PEAK names. VmHWM begins anew with the program; the maxRSS of getrusage would carry over the peak of who started it.
import { readFileSync, writeFileSync } from "node:fs";
import { isMainThread } from "node:worker_threads";

if (isMainThread)
  process.on("exit", () => {
    const [, peak] = /VmHWM:\s+(\d+) kB/.exec(readFileSync("/proc/self/status", "utf8"));
    writeFileSync(process.env.BENCH_PEAK, peak);
  });
