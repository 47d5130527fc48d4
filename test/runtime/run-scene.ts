/** A store and the runs that meet in it, each a real `holdfast run` in a process of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Holdfast, type HoldfastOptions, openHoldfast } from "../../dist/index.js";

const MAIN = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
/** For tests that start processes: most of their time may go into that on a busy machine. */
export const PATIENTLY = { timeout: 300_000, concurrent: true };

const GIVE_UP_MS = 120_000;
const LEASE_IS_OVER = 80;

/** Resolves when it is so, and fails when it never is. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (const limit = performance.now() + GIVE_UP_MS; !(await isSo()); await sleep(20))
    if (performance.now() > limit) throw new Error(`never: ${what}`);
}

/** The line of the system about a process; "" when there is none. */
function statOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, "latin1");
  } catch {
    return "";
  }
}

/** What is in such a line behind the name: the state first. */
function factsIn(stat: string): readonly string[] {
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/** T for stopped, Z for ended but not asked for, "" for gone. */
export function stateOf(pid: number): string {
  return factsIn(statOf(pid))[0] ?? "";
}

const FLAGS = 6;
const IS_EXITING = 0x4;

/** Ended, or on its way out: then it runs nothing of its own any more, and its locks are free before it is seen to have ended. */
export function tellsOfNobody(stat: string): boolean {
  const facts = factsIn(stat);
  return ["", "Z", "X"].includes(facts[0] ?? "") || (Number(facts[FLAGS]) & IS_EXITING) !== 0;
}

export function isGone(pid: number): boolean {
  return tellsOfNobody(statOf(pid));
}

export interface RunSettings {
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: "pipe" | "ignore";
}

/** One `holdfast` command under way. */
export class Run {
  readonly child: ChildProcess;
  /** Its own end; what it wrote may still be on the way, or be kept open by others. */
  readonly ended: Promise<number | NodeJS.Signals>;
  /** The end of its output too. */
  readonly finished: Promise<number | NodeJS.Signals>;
  out = "";
  err = "";

  constructor(child: ChildProcess) {
    this.child = child;
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.out += text;
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.err += text;
    });
    this.ended = once(child, "exit").then(([code, signal]) => (code ?? signal) as number | NodeJS.Signals);
    this.finished = once(child, "close").then(() => this.ended);
  }

  get pid(): number {
    return this.child.pid ?? Number.NaN;
  }

  /** Resolves with what the expression found in the output so far. */
  async says(what: RegExp): Promise<string> {
    await until(`${what} in ${JSON.stringify(this.out)}, stderr ${this.err}`, () => what.test(this.out));
    const found = what.exec(this.out);
    return found?.[1] ?? found?.[0] ?? "";
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Until it stands still, or has ended. */
  async stop(): Promise<void> {
    this.signal("SIGSTOP");
    await until("it stands still", () => stateOf(this.pid) === "T" || isGone(this.pid));
  }
}

export class RunScene {
  readonly dir = mkdtempSync(join(tmpdir(), "holdfast-run-"));
  readonly url: string;
  readonly #runs: Run[] = [];
  readonly #open: Holdfast[] = [];
  readonly #strays: number[] = [];

  constructor(kind: "sqlite" | "file" = "sqlite") {
    const store = join(this.dir, "store");
    this.url = kind === "file" ? `file:${store}` : `sqlite:${join(store, "holdfast.db")}`;
  }

  async open(options: HoldfastOptions = {}): Promise<Holdfast> {
    const holdfast = await openHoldfast({ owner: "user:test", ...options, store: this.url });
    this.#open.push(holdfast);
    return holdfast;
  }

  holdfast(args: readonly string[], settings: RunSettings = {}): Run {
    return this.#start(process.execPath, [MAIN, ...args], settings);
  }

  /** A script that finds node as `$NODE` and the command line as `$MAIN`. */
  shell(script: string, settings: RunSettings = {}): Run {
    return this.#start("sh", ["-c", script], settings);
  }

  /** In a session of its own: without a terminal, wherever the tests are run from. */
  #start(program: string, args: readonly string[], { env = {}, stdin = "ignore" }: RunSettings): Run {
    const child = spawn(program, args, {
      cwd: this.dir,
      env: this.env(env),
      stdio: [stdin, "pipe", "pipe"],
      detached: true,
    });
    const run = new Run(child);
    this.#runs.push(run);
    return run;
  }

  env(more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
    const places = { HOLDFAST_STORE: this.url, NODE: process.execPath, MAIN };
    return { ...withoutHoldfast(process.env), ...places, ...more };
  }

  /** `holdfast run …flags -- sh -c SCRIPT`. */
  run(flags: readonly string[], script: string, settings: RunSettings = {}): Run {
    return this.holdfast(["run", ...flags, "--", "sh", "-c", script], settings);
  }

  /**
   * The same, once its command has said all of this. One that lost its lease before, because the machine slept longer than
   * the lease is, is begun again.
   */
  async begun(flags: readonly string[], script: string, ...words: readonly RegExp[]): Promise<Run> {
    for (;;) {
      const run = this.run(flags, script);
      const hasSaid = (): boolean => words.every((what) => what.test(run.out));
      const isOver = (): boolean => run.child.exitCode !== null || run.child.signalCode !== null;
      await until(`${words.join()} of a run`, () => hasSaid() || isOver());
      if (hasSaid() && !isOver()) return run;
      if ((await run.finished) !== LEASE_IS_OVER) throw new Error(`it ended by itself: ${run.out} ${run.err}`);
    }
  }

  /** The same, and its runner was killed while it held: without a moment to clean up. */
  async orphaned(flags: readonly string[], script: string, ...words: readonly RegExp[]): Promise<Run> {
    for (;;) {
      const run = await this.begun(flags, script, ...words);
      run.signal("SIGKILL");
      if ((await run.ended) === "SIGKILL") return run;
    }
  }

  path(name: string): string {
    return join(this.dir, name);
  }
  has(name: string): boolean {
    return existsSync(this.path(name));
  }
  read(name: string): string {
    return existsSync(this.path(name)) ? readFileSync(this.path(name), "utf8") : "";
  }
  write(name: string): void {
    writeFileSync(this.path(name), "");
  }
  json(name: string): Record<string, unknown> {
    return JSON.parse(this.read(name)) as Record<string, unknown>;
  }

  /** Ends this process with the scene. */
  keep(pid: number): number {
    this.#strays.push(pid);
    return pid;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const run of this.#runs) run.child.kill("SIGKILL");
    for (const pid of this.#strays) killQuietly(pid);
    await Promise.all(this.#runs.map((run) => run.ended));
    await Promise.all(this.#open.map((holdfast) => holdfast.close()));
    rmSync(this.dir, { recursive: true, force: true, maxRetries: 10 });
  }
}

export function killQuietly(pid: number, signal: NodeJS.Signals = "SIGKILL"): void {
  try {
    if (Number.isInteger(pid) && pid > 1) process.kill(pid, signal);
  } catch {
    // Gone already.
  }
}

function withoutHoldfast(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith("HOLDFAST_")));
}
