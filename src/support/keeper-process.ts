/** The keeper, in its own process: keeper.ts has the protocol. It holds nothing and writes nothing. */
import { createInterface } from "node:readline";
import { sharedMs } from "./keeper.js";
import { processAt } from "./process-table.js";
import { signalGroup } from "./signal-group.js";

interface Kept {
  /** Tells the group's first process from a later one with its number. */
  readonly startedAt: number | null;
  timer: NodeJS.Timeout;
}

const groups = new Map<number, Kept>();

function keep(pid: number, untilMs: number): void {
  const known = groups.get(pid);
  clearTimeout(known?.timer);
  const startedAt = known === undefined ? (processAt(pid)?.startedAt ?? null) : known.startedAt;
  groups.set(pid, { startedAt, timer: setTimeout(() => end(pid), Math.max(0, untilMs - sharedMs())) });
}

function drop(pid: number): void {
  clearTimeout(groups.get(pid)?.timer);
  groups.delete(pid);
}

/** A number is not given out anew while anybody is in the group of that number. */
function end(pid: number): void {
  const kept = groups.get(pid);
  drop(pid);
  const now = processAt(pid);
  if (kept !== undefined && (now === null || now.startedAt === kept.startedAt)) signalGroup({ pid }, "SIGKILL");
}

// What is meant for its maker does not end it before the pipe says that the maker is gone.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => undefined);

createInterface({ input: process.stdin })
  .on("line", (line) => {
    const [verb, pid, until] = line.split(" ");
    if (verb === "keep") keep(Number(pid), Number(until));
    else if (verb === "drop") drop(Number(pid));
  })
  .on("close", () => {
    for (const pid of groups.keys()) end(pid);
    process.exit(0);
  });
