/**
 * Runs a gate's command: no shell, a process group of its own, no standard input, a time limit. No guard and no lock is
 * held in the meantime. When the time is up, or the caller aborts, the whole group is ended: TERM, and KILL two seconds
 * later. If the caller is killed, or frozen when the time is up, the watcher ends the group, and its end is not
 * reported.
 */
import { spawn } from "node:child_process";
import { signalGroup } from "../../../platform/process/signal-group.js";
import { Keeper } from "../../../platform/process/watcher.js";

export interface CommandResult {
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly timedOut: boolean;
  readonly durationMs: number;
  readonly output: string;
}

const KILL_AFTER_MS = 2_000;
const KEEP_BYTES = 32 * 1024;

export interface CommandOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly timeoutMs: number;
  /** Ends it before its time; the promise then rejects with the signal's reason. */
  readonly signal: AbortSignal | undefined;
}

export async function runCommand(command: readonly string[], options: CommandOptions): Promise<CommandResult> {
  options.signal?.throwIfAborted();
  // A gate's verdict does not hang on it: where none can be started, the command has none.
  const keeper = new Keeper(() => undefined);
  try {
    // mutant: gate-killed: keeper.start(); → keeper.close();
    keeper.start();
    return await resultOf(command, options, keeper);
  } finally {
    keeper.close();
  }
}

function resultOf(command: readonly string[], options: CommandOptions, keeper: Keeper): Promise<CommandResult> {
  const { signal: stopSignal } = options;
  const [program = "", ...args] = command;
  const startedAt = performance.now();
  const output = createOutput();
  return new Promise((resolve, reject) => {
    const child = keeper.started(options.timeoutMs + KILL_AFTER_MS, (mark) =>
      spawn(program, args, {
        cwd: options.cwd,
        env: { ...options.env, ...mark },
        detached: true,
        stdio: ["ignore", "pipe", "pipe"],
      }),
    );
    let timedOut = false;
    let killer: NodeJS.Timeout | undefined;
    const stop = (): void => {
      signalGroup(child, "SIGTERM");
      killer ??= setTimeout(() => signalGroup(child, "SIGKILL"), KILL_AFTER_MS);
    };
    const limit = setTimeout(() => {
      timedOut = true;
      stop();
    }, options.timeoutMs);
    // mutant: board-gate-signal: stopSignal?.addEventListener("abort", stop); →
    stopSignal?.addEventListener("abort", stop);
    const end = (exitCode: number | null, signal: string | null): void => {
      clearTimeout(limit);
      clearTimeout(killer);
      stopSignal?.removeEventListener("abort", stop);
      // What it left running in its group must not write into the verdict of a later run.
      signalGroup(child, "SIGKILL");
      if (child.pid !== undefined) keeper.drop(child.pid);
      // Whoever has left the group may keep the pipes open for as long as it lives; we do not.
      child.stdout.destroy();
      child.stderr.destroy();
      const durationMs = Math.round(performance.now() - startedAt);
      if (stopSignal?.aborted) reject(stopSignal.reason);
      else resolve({ exitCode, signal, timedOut, durationMs, output: output.text() });
    };
    child.stdout.on("data", output.add);
    child.stderr.on("data", output.add);
    child.once("error", (error) => {
      output.add(Buffer.from(`${error.message}\n`));
      end(null, null);
    });
    child.once("exit", (code, signal) => {
      // mutant: gate-in-time: clearTimeout(limit); // It was in time → void limit; // It was in time
      clearTimeout(limit); // It was in time, whoever keeps its output open.
      // Output still in the pipes belongs to it; a grandchild that keeps them open does not keep us waiting.
      const ended = new Promise((closed) => child.once("close", closed));
      // Behind the immediate: a process that slept meanwhile reads what is there before it gives up.
      const patience = new Promise((over) => setTimeout(() => setImmediate(over), 200).unref());
      void Promise.race([ended, patience]).then(() => end(code, signal));
    });
  });
}

/** Keeps the beginning and the end. */
function createOutput() {
  let head = Buffer.alloc(0);
  let tail = Buffer.alloc(0);
  let dropped = 0;
  return {
    add(chunk: Buffer): void {
      const room = KEEP_BYTES - head.length;
      if (room > 0) head = Buffer.concat([head, chunk.subarray(0, room)]);
      const rest = room > 0 ? chunk.subarray(room) : chunk;
      const joined = Buffer.concat([tail, rest]);
      dropped += Math.max(0, joined.length - KEEP_BYTES);
      tail = joined.subarray(Math.max(0, joined.length - KEEP_BYTES));
    },
    text(): string {
      const middle = dropped === 0 ? "" : `\n… ${dropped} bytes left out …\n`;
      return head.toString("utf8") + middle + tail.toString("utf8");
    },
  };
}
