/**
 * The keeper, seen from its maker, a process that runs commands (a worker, a gate): one small process beside it that ends
 * their process groups when the maker cannot, because it was killed or does not get to run.
 *
 *   keep PID UNTIL   this group may run until then, by the clock that all processes of the machine share; a worker says it
 *                    again with every beat that gets through
 *   drop PID         it has ended
 *
 * The pipe closes when the maker is gone, however it went: all groups are killed. A group whose time is up is killed: from
 * then on the slot of a job may be given on. A keeper that was killed is started anew with the next line; between a start
 * and the line that tells of it, and while both of them are dead, a group is on its own.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

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

const KEEPER = new URL("./keeper-process.js", import.meta.url);

/** Means the same in every process of this machine. */
export function sharedMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
