/** A client of a store in a process of its own, which can be killed and stopped. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { AcquireOptions, Duration, GrantRecord, HoldfastOptions, LeaseState } from "../../dist/index.js";

const CLIENT = fileURLToPath(new URL("../fixtures/client.mjs", import.meta.url));

/** An error of the other process, as far as it can be told over IPC. */
export class RemoteError extends Error {
  readonly code: string;
  readonly details: Readonly<Record<string, unknown>>;
  constructor({ code, message, details }: { code: string; message: string; details?: Record<string, unknown> }) {
    super(`${code}: ${message}`);
    this.code = code;
    this.details = details ?? {};
  }
}

interface Answer {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: { readonly code: string; readonly message: string };
}

interface Kept {
  readonly id: number;
  readonly grants: readonly GrantRecord[];
  readonly token: string;
}

/** One stay inside the lock, on the clock that all processes share. */
export interface Section {
  /** Just before the request was sent. */
  readonly asked: number;
  readonly from: number;
  /** Just before the release was sent. */
  readonly to: number;
  readonly fencingToken: number;
}

export interface LoopOptions extends AcquireOptions {
  readonly forMs?: number;
  readonly times?: number;
  /** However long they take. */
  readonly atLeast?: number;
  /** A file whose appearance ends the loop. */
  readonly stop?: string;
  readonly holdMs: number;
  /** A key held all the while, so that the loop's requests come from a client that already holds something. */
  readonly side?: string;
}

export type StartOptions = HoldfastOptions & { readonly env?: Readonly<Record<string, string>> };

export class Client {
  readonly #process: ChildProcess;
  readonly #open = new Map<number, { resolve(result: unknown): void; reject(error: Error): void }>();
  #lastId = 0;

  private constructor(child: ChildProcess) {
    this.#process = child;
    child.on("message", (answer: Answer) => this.#hear(answer));
    child.on("exit", (code, signal) => this.#end(`the client ended with ${signal ?? code}`));
  }

  static async start({ env, ...options }: StartOptions): Promise<Client> {
    const child = spawn(process.execPath, ["--expose-gc", CLIENT, JSON.stringify(options)], {
      stdio: ["ignore", "inherit", "inherit", "ipc"],
      env: { ...process.env, ...env },
    });
    const client = new Client(child);
    await new Promise((resolve, reject) => client.#open.set(0, { resolve, reject }));
    return client;
  }

  get pid(): number {
    const { pid } = this.#process;
    if (pid === undefined) throw new Error("the client was not started");
    return pid;
  }

  async acquire(key: string, options: AcquireOptions = {}): Promise<RemoteLease> {
    return this.#keep(key, await this.call("acquire", key, options));
  }

  /** The lease, or null when it is taken. */
  async tryAcquire(key: string, options: AcquireOptions = {}): Promise<RemoteLease | null> {
    try {
      return await this.acquire(key, { ...options, wait: 0 });
    } catch (error) {
      if (error instanceof RemoteError && error.code === "E_LOCK_CONFLICT") return null;
      throw error;
    }
  }

  /** Acquires, and blocks its event loop from the very next instruction on, for `until` milliseconds or up to a file. */
  async acquireAndBlock(key: string, options: AcquireOptions, until: number | string): Promise<RemoteLease> {
    return this.#keep(key, await this.call("acquireAndBlock", key, options, until));
  }

  async loop(key: string | readonly string[], options: LoopOptions): Promise<readonly Section[]> {
    return (await this.call("loop", key, options)) as readonly Section[];
  }

  async kill(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = once(this.#process, "exit");
    this.#process.kill("SIGKILL");
    await ended;
  }

  /** Kills it, and leaves calls that are still open unanswered. */
  async abandon(): Promise<void> {
    this.#open.clear();
    await this.kill();
  }

  /** Resolves when the system says that it stands still. */
  async stop(): Promise<void> {
    this.#process.kill("SIGSTOP");
    if (process.platform !== "linux") return;
    while (stateOf(this.pid) !== "T") await sleep(1);
  }

  continue(): void {
    this.#process.kill("SIGCONT");
  }

  /** Closes its Holdfast and ends like a program that is done. */
  async exit(): Promise<void> {
    await this.call("close");
    const ended = once(this.#process, "exit");
    this.#process.disconnect();
    await ended;
  }

  /** Makes one of the calls of the fixture. Rejects with `RemoteError`, or when the process ends first. */
  async call(call: string, ...args: readonly unknown[]): Promise<unknown> {
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#open.set(id, { resolve, reject });
      this.#process.send({ id, call, args }, (error) => {
        if (error !== null) reject(error);
      });
    });
  }

  #keep(key: string, kept: unknown): RemoteLease {
    return new RemoteLease(this, key, kept as Kept);
  }

  #hear({ id, result, error }: Answer): void {
    const call = this.#open.get(id);
    this.#open.delete(id);
    if (error === undefined) call?.resolve(result);
    else call?.reject(new RemoteError(error));
  }

  #end(why: string): void {
    for (const { reject } of this.#open.values()) reject(new Error(why));
    this.#open.clear();
  }
}

/** A lease in the hands of another process. */
export class RemoteLease {
  readonly client: Client;
  readonly key: string;
  readonly token: string;
  readonly record: GrantRecord;
  readonly #id: number;

  constructor(client: Client, key: string, { id, grants, token }: Kept) {
    const [record] = grants;
    if (record === undefined) throw new Error("a lease has at least one grant");
    this.client = client;
    this.key = key;
    this.token = token;
    this.record = record;
    this.#id = id;
  }

  get fencingToken(): number {
    return this.record.fencing_token;
  }
  /** Writes `text` into `file` inside `lease.commit`. */
  async commit(file: string, text: string): Promise<void> {
    await this.client.call("commit", this.#id, file, text);
  }
  /** Keeps the store's guard inside `lease.commit`, for `until` milliseconds or up to a file; writes `inside` first. */
  async commitAndBlock(until: number | string, inside?: string): Promise<void> {
    await this.client.call("commitAndBlock", this.#id, until, inside);
  }
  /** The record as it is after the renewal. */
  async renew(ttl: Duration): Promise<GrantRecord> {
    const [record] = (await this.client.call("renew", this.#id, ttl)) as readonly GrantRecord[];
    if (record === undefined) throw new Error("a lease has at least one grant");
    return record;
  }
  /** Runs a statement in `lease.transaction`, writes `file`, and keeps the transaction open for `ms`. */
  async transactAndBlock(statement: string, file: string, ms: number): Promise<void> {
    await this.client.call("transactAndBlock", this.#id, statement, file, ms);
  }
  /** Takes another key, presenting this lease. */
  async acquireMore(key: string, options: AcquireOptions = {}): Promise<RemoteLease> {
    return new RemoteLease(this.client, key, (await this.client.call("acquireMore", this.#id, key, options)) as Kept);
  }
  async upgrade(options: { readonly wait?: number } = {}): Promise<number> {
    return (await this.client.call("upgrade", this.#id, options)) as number;
  }
  async resume(): Promise<RemoteLease> {
    return new RemoteLease(this.client, this.key, (await this.client.call("resume", this.#id)) as Kept);
  }
  async release(): Promise<void> {
    await this.client.call("release", this.#id);
  }
  /** What the lease believes of itself, and when and why its signal aborted. */
  async look(): Promise<{ readonly state: LeaseState; readonly abort: { code: string; at: number } | null }> {
    return (await this.client.call("look", this.#id)) as Awaited<ReturnType<RemoteLease["look"]>>;
  }
}

function stateOf(pid: number): string {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  return stat.charAt(stat.lastIndexOf(")") + 2);
}
