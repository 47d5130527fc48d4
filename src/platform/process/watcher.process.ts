/** The watcher, in its own process: watcher.ts has the protocol. It holds nothing and writes nothing. */
import { createInterface } from "node:readline";
import { sleep } from "../../base/sleep.js";
import { listYounger, processAt, wasStartedWith } from "./process-table.js";
import { signalGroup } from "./signal-group.js";
import { MARK, sharedMs } from "./watcher.js";

interface Kept {
  /** Tells the group's first process from a later one with its number. */
  readonly startedAt: number | null;
  timer: NodeJS.Timeout;
}

/** A process shows its mark once it has become the command, which may take a while on a busy machine. */
const LOOK_FOR_MS = 10_000;
const LOOK_EVERY_MS = 50;

const groups = new Map<number, Kept>();
const expected = new Set<string>();

function keep(pid: number, untilMs: number): void {
  const known = groups.get(pid);
  clearTimeout(known?.timer);
  const startedAt = known === undefined ? (processAt(pid)?.startedAt ?? null) : known.startedAt;
  // mutant: job-frozen-worker: end(pid), Math.max(0, untilMs - → undefined, Math.max(0, untilMs -
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

async function endExpected(): Promise<void> {
  const until = sharedMs() + LOOK_FOR_MS;
  while (expected.size > 0 && sharedMs() < until) {
    for (const { pid, group } of listYounger())
      for (const mark of expected)
        if (wasStartedWith(pid, `${MARK}=${mark}`)) {
          expected.delete(mark);
          signalGroup({ pid: group }, "SIGKILL");
        }
    if (expected.size > 0) await sleep(LOOK_EVERY_MS);
  }
}

// What is meant for its maker does not end it before the pipe says that the maker is gone.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => undefined);

createInterface({ input: process.stdin })
  .on("line", (line) => {
    const [verb, which = "", until] = line.split(" ");
    if (verb === "expect") expected.add(which);
    else if (verb === "keep") keep(Number(which), Number(until));
    else if (verb === "met") expected.delete(which);
    else if (verb === "drop") drop(Number(which));
  })
  .on("close", async () => {
    // mutant: job-killed-worker: for (const pid of groups.keys()) end(pid); →
    for (const pid of groups.keys()) end(pid);
    // mutant: keeper-expects: await endExpected(); → void endExpected;
    await endExpected();
    process.exit(0);
  });
