/** A deliverable folder with some work in it, a clock that can be moved on, and agents in processes of their own. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { Deliverable, type DeliverableOptions } from "../../src/deliverable/deliverable.js";
import type { LogLine } from "../../src/deliverable/log.js";
import { type Clock, createSystemClock } from "../../src/support/clock.js";

const AGENT = fileURLToPath(new URL("../fixtures/deliverable-agent.mjs", import.meta.url));

export interface MovableClock extends Clock {
  pass(ms: number): void;
}

/** Stands still until it is moved. */
export function movableClock(): MovableClock {
  const start = createSystemClock()();
  let skewMs = 0;
  const clock = () => ({ ...start, wallMs: start.wallMs + skewMs, bootMs: start.bootMs + skewMs });
  return Object.assign(clock, {
    pass(ms: number) {
      skewMs += ms;
    },
  });
}

/** A folder with work in it, somewhere in a folder of its own that goes with the test. */
export function newFolder(name = "DEL-08-05"): string {
  const folder = join(scratch(), name);
  mkdirSync(join(folder, "drafts"), { recursive: true });
  writeFileSync(join(folder, "_STATUS.md"), "state: IN_PROGRESS\n");
  writeFileSync(join(folder, "drafts", "spec.md"), "# Specification\n");
  return folder;
}

function scratch(): string {
  const base = mkdtempSync(join(tmpdir(), "holdfast-deliverable-"));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  return base;
}

export function deliverable(folder: string, options: DeliverableOptions = {}, clock: Clock = createSystemClock()) {
  return new Deliverable(folder, { holder: "agent:one", ...options }, clock);
}

export function readLock(folder: string): Record<string, unknown> {
  return JSON.parse(readFileSync(join(folder, "_LOCK.json"), "utf8")) as Record<string, unknown>;
}

export function isLocked(folder: string): boolean {
  return existsSync(join(folder, "_LOCK.json"));
}

export function readLog(folder: string): LogLine[] {
  const path = join(folder, "_LOCK.log.jsonl");
  if (!existsSync(path)) return [];
  const text = readFileSync(path, "utf8");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as LogLine);
}

/** Everything below a folder but what is Holdfast's own: path, content, time of change. */
export function others(folder: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    if (/(^|\/)(\.holdfast(\/|$)|_LOCK\.)/.test(name)) continue;
    const stat = lstatSync(join(folder, name), { bigint: true });
    found[name] = stat.isFile() ? `${stat.mtimeNs} ${readFileSync(join(folder, name), "utf8")}` : "folder";
  }
  return found;
}

interface Answer {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: { readonly code: string; readonly message: string; readonly details: Record<string, unknown> };
}

export interface Told {
  readonly ok: boolean;
  readonly code: string | null;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly result: unknown;
}

/** An agent in a process of its own. */
export class Agent {
  readonly #process: ChildProcess;
  readonly #open = new Map<number, (answer: Answer) => void>();
  #lastId = 0;

  private constructor(child: ChildProcess) {
    this.#process = child;
    child.on("message", (answer: Answer) => this.#open.get(answer.id)?.(answer));
  }

  static async start(folder: string, holder: string, user: { uid?: number; gid?: number } = {}): Promise<Agent> {
    const child = spawn(process.execPath, [AGENT, folder, holder], {
      stdio: ["ignore", "inherit", "inherit", "ipc"],
      ...user,
    });
    const agent = new Agent(child);
    onTestFinished(() => agent.kill());
    await new Promise<void>((resolve, reject) => {
      agent.#open.set(0, () => resolve());
      child.on("exit", (code) => reject(new Error(`the agent ended with ${code}`)));
    });
    return agent;
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  async call(call: string, ...args: readonly unknown[]): Promise<Told> {
    this.#lastId += 1;
    const id = this.#lastId;
    const { result, error } = await new Promise<Answer>((resolve) => {
      this.#open.set(id, resolve);
      this.#process.send({ id, call, args });
    });
    this.#open.delete(id);
    const { code = null, message = "", details = {} } = error ?? {};
    return { ok: error === undefined, code, message, details, result };
  }

  async kill(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = once(this.#process, "exit");
    this.#process.kill("SIGKILL");
    await ended;
  }
}
