/**
 * The maker's side of the watcher. The maker is a process that runs commands (a worker, a gate); the watcher is one small
 * process beside it that ends their process groups when the maker cannot, because it was killed or is stopped. The maker
 * sends lines:
 *
 *   expect MARK      a command may be started from now on, with this mark in its environment
 *   keep PID UNTIL   this group may run until then, by the clock that all processes of the machine share; a worker repeats
 *                    the line with every heartbeat that gets through
 *   met MARK         the command's pid was sent, or it could not be started
 *   drop PID         the command has ended
 *
 * The pipe closes when the maker is gone, for any reason: all groups are killed. A maker may be killed before it knows the
 * pid of a command that it expected; the watcher then finds that command by its mark and kills it too, where the system
 * shows the environment of a process (Linux). A group whose time is up is killed: from then on the slot of a job may pass
 * to another worker. A watcher that was killed is started anew with the next line; while both are dead, nothing ends a
 * group.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";

/** The variable that a mark is the value of. */
export const MARK = "HOLDFAST_KEPT";

export class Keeper {
  #child: ChildProcess | undefined;
  #cannotStart = false;
  readonly #onError: (error: unknown) => void;

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  /** Before a group is started, so that it is told of at once. */
  start(): void {
    if (!this.#cannotStart) this.#child ??= this.#spawn();
  }

  /** Starts a command, with these variables in its environment, and keeps its group for so long. */
  started<Child extends Pick<ChildProcess, "pid">>(leftMs: number, begin: (mark: NodeJS.ProcessEnv) => Child): Child {
    const mark = randomUUID();
    this.#tell(`expect ${mark}`);
    try {
      const child = begin({ [MARK]: mark });
      if (child.pid !== undefined) this.keep(child.pid, leftMs);
      return child;
    } finally {
      this.#tell(`met ${mark}`);
    }
  }

  keep(pid: number, leftMs: number): void {
    this.#tell(`keep ${pid} ${sharedMs() + leftMs}`);
  }

  drop(pid: number): void {
    if (this.#child !== undefined) this.#tell(`drop ${pid}`);
  }

  close(): void {
    this.#child?.stdin?.end();
    this.#child = undefined;
    this.#cannotStart = true;
  }

  #tell(line: string): void {
    this.start();
    this.#child?.stdin?.write(`${line}\n`);
  }

  /** In a session of its own, so that a Ctrl-C that ends its maker does not end it first. */
  #spawn(): ChildProcess {
    const child = spawn(process.execPath, [fileURLToPath(KEEPER)], {
      stdio: ["pipe", "ignore", "ignore"],
      detached: true,
      cwd: "/",
    });
    const isGone = (error: unknown): void => {
      if (this.#child !== child) return;
      this.#child = undefined;
      // mutant: job-keeper-again: #onError(error → #cannotStart = true; if (error !== null) this.#onError(error
      if (error !== null) this.#onError(error);
    };
    // For want of descriptors or processes, perhaps: it is tried again with the next line.
    child.once("error", isGone);
    child.once("exit", (code) => {
      this.#cannotStart ||= code !== null && code !== 0;
      isGone(code ? new Error("the process that ends commands when this one is killed could not start") : null);
    });
    child.stdin?.on("error", () => undefined);
    child.unref();
    // A pipe to a child is a socket, which need not keep this process alive.
    (child.stdin as (NodeJS.WritableStream & { unref?(): void }) | null)?.unref?.();
    return child;
  }
}

const KEEPER = new URL("./watcher.process.js", import.meta.url);

/** Means the same in every process of this machine. */
export function sharedMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
