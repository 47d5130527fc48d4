/**
 * Runs a command to its end: no shell, a process group of its own, no standard input, the beginning and the end of its
 * output kept. The commands of jobs and gates run so; `holdfast run` starts its command itself, because that command has
 * the terminal.
 *
 * The group ends with the command. When the signal aborts, the group gets SIGTERM, and SIGKILL two seconds later. When this
 * process is killed, or is frozen when the time of the command is up, the watcher ends the group (watcher.ts).
 *
 * Not promised: the end of a process that left the group. It may go on printing, but its output is not waited for.
 */
import { once } from "node:events";
import { Socket } from "node:net";
import { signalGroup } from "./signal-group.js";
import { type CommandLine, startGuarded } from "./start-command.js";
import { type Guard, watchGroup } from "./watch-group.js";

export interface FinishedCommand {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly output: string;
}

/** Of the beginning of the output, and of its end. */
const KEPT_BYTES = 32 * 1024;
const LAST_OUTPUT_MS = 1_000;

/** Throws `StartFailure`. */
export async function runCommand(line: CommandLine, signal: AbortSignal, guard: Guard): Promise<FinishedCommand> {
  const child = await startGuarded(line, guard);
  const ended = once(child, "exit");
  const closed = once(child, "close");
  const output = createOutput();
  // A pipe from a child is a socket.
  const streams = [child.stdout, child.stderr].filter((stream) => stream instanceof Socket);
  for (const stream of streams) stream.on("data", output.add);
  watchGroup(child, signal, guard, () => signalGroup(child, "SIGTERM"));
  const [exitCode, killedBy] = await ended;
  await Promise.race([closed, lastOutput()]);
  // mutant: job-output-left-open: for (const stream of streams) stream.unref(); →
  for (const stream of streams) stream.unref();
  return { exitCode, signal: killedBy, output: output.text() };
}

/** Behind the immediate: a process that slept in the meantime reads what is there before it gives up. */
function lastOutput(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(() => setImmediate(resolve), LAST_OUTPUT_MS).unref();
  });
}

/** Keeps the beginning and the end. */
function createOutput() {
  let head = Buffer.alloc(0);
  let tail = Buffer.alloc(0);
  let dropped = 0;
  return {
    add(chunk: Buffer): void {
      const room = Math.max(0, KEPT_BYTES - head.length);
      if (room > 0) head = Buffer.concat([head, chunk.subarray(0, room)]);
      const joined = Buffer.concat([tail, chunk.subarray(room)]);
      dropped += Math.max(0, joined.length - KEPT_BYTES);
      tail = joined.subarray(Math.max(0, joined.length - KEPT_BYTES));
    },
    text(): string {
      if (dropped === 0) return Buffer.concat([head, tail]).toString("utf8");
      return `${head.toString("utf8")}\n… ${dropped} bytes left out …\n${tail.toString("utf8")}`;
    },
  };
}
