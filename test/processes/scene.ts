/** A folder with a store in it and the processes that meet there. Everything of it is gone when the scene is disposed. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import {
  type AuditEntry,
  type AuditEvent,
  type GrantRecord,
  type Holdfast,
  type HoldfastOptions,
  openHoldfast,
} from "../../dist/index.js";
import { Client, type StartOptions } from "./client.js";

/** The stores whose clients are processes. */
export const STORES = ["sqlite", "file"] as const;
export type StoreKind = (typeof STORES)[number];

/** For tests that start processes: most of their time may go into that on a busy machine. */
export const PATIENTLY = { timeout: 300_000 };
/** The same for tests that mostly sleep, and do it side by side. */
export const SIDE_BY_SIDE = { ...PATIENTLY, concurrent: true };

export class Scene {
  readonly kind: StoreKind;
  /** For the test's own files. */
  readonly dir: string;
  readonly url: string;
  readonly #home: string;
  readonly #clients = new Set<Client>();
  readonly #children = new Set<ChildProcess>();
  readonly #open = new Set<Holdfast>();

  constructor(kind: StoreKind) {
    this.kind = kind;
    this.dir = mkdtempSync(join(tmpdir(), `holdfast-${kind}-`));
    this.#home = join(this.dir, "store");
    mkdirSync(this.#home);
    this.url = kind === "sqlite" ? `sqlite:${join(this.#home, "holdfast.db")}` : `file:${this.#home}`;
  }

  /** Opens the store in the process of the test. */
  async open(options: HoldfastOptions = {}): Promise<Holdfast> {
    const holdfast = await openHoldfast({ owner: "user:test", ...options, store: this.url });
    this.#open.add(holdfast);
    return holdfast;
  }

  async start(options: StartOptions = {}): Promise<Client> {
    const client = await Client.start({ owner: "agent:a", ...options, store: this.url });
    this.#clients.add(client);
    return client;
  }

  /** `agent:a` and `agent:b`. */
  async startTwo(options: StartOptions = {}): Promise<[Client, Client]> {
    return Promise.all([this.start(options), this.start({ ...options, owner: "agent:b" })]);
  }
  async startThree(options: StartOptions = {}): Promise<[Client, Client, Client]> {
    return Promise.all([...(await this.startTwo(options)), this.start({ ...options, owner: "agent:c" })]);
  }
  /** `agent:0`, `agent:1` and so on. */
  async startMany(count: number, options: StartOptions = {}): Promise<Client[]> {
    return Promise.all(Array.from({ length: count }, (_, at) => this.start({ ...options, owner: `agent:${at}` })));
  }

  /** Runs a program of test/fixtures with one argument of JSON. */
  run(fixture: string, about: Readonly<Record<string, unknown>>): ChildProcess {
    const program = fileURLToPath(new URL(`../fixtures/${fixture}`, import.meta.url));
    return this.keep(
      spawn(process.execPath, [program, JSON.stringify({ ...about, store: this.url })], {
        stdio: ["pipe", "pipe", "inherit"],
      }),
    );
  }

  /** Ends this process with the scene. */
  keep(child: ChildProcess): ChildProcess {
    this.#children.add(child);
    child.once("exit", () => this.#children.delete(child));
    return child;
  }

  /** A file of the test beside the store. */
  file(name: string): string {
    return join(this.dir, name);
  }
  read(name: string): string {
    return readFileSync(this.file(name), "utf8");
  }
  /** A file of the store itself. */
  storeFile(name: string): string {
    return join(this.#home, name);
  }
  /** The file by which the holder with this nonce proves its life. */
  proofFile(nonce: string): string {
    return this.storeFile(join("alive", nonce));
  }

  /** Resolves when the key is granted to somebody, also if the lease has run out since. */
  async untilGranted(key: string): Promise<void> {
    const holdfast = await this.open();
    while ((await holdfast.inspect(key)).grants.length === 0) await sleep(5);
  }

  /** Resolves when somebody holds the key. */
  async untilHeld(key: string): Promise<void> {
    const holdfast = await this.open();
    while ((await holdfast.inspect(key)).state !== "held") await sleep(5);
  }

  /**
   * Stops a client between two of its steps. One that is stopped in the middle of a step keeps the guard of the tree, and
   * nobody gets in until it goes on.
   */
  async stop(client: Client, key: string): Promise<void> {
    const holdfast = await this.open();
    for (;;) {
      await client.stop();
      const step = holdfast.verify(key, 1).catch(() => undefined);
      const isFree = await Promise.race([step.then(() => true), sleep(1_500, false)]);
      if (isFree) return;
      client.continue();
      await step;
    }
  }

  /** Resolves when the lease on the key has run out. */
  async untilExpired(key: string): Promise<void> {
    const holdfast = await this.open();
    while ((await holdfast.inspect(key)).state !== "expired") await sleep(20);
  }

  /** Resolves when this owner stands in line for the key, or its request is over before anybody saw it there. */
  async untilInLine(key: string, owner: string, request: Promise<unknown>): Promise<void> {
    const holdfast = await this.open();
    let isOver = false;
    const over = (): void => {
      isOver = true;
    };
    request.then(over, over);
    const isThere = async () => (await holdfast.inspect(key)).waiters.some((waiter) => waiter.owner === owner);
    while (!isOver && !(await isThere())) await sleep(5);
  }

  /** Resolves when the grant on the key has been renewed after that time. */
  async untilRenewed(key: string, after: Date): Promise<void> {
    const holdfast = await this.open();
    for (;;) {
      const { grants } = await holdfast.inspect(key);
      if ((grants[0]?.last_renewed_at ?? "") > after.toISOString()) return;
      await sleep(20);
    }
  }

  /** Entries of this kind, in the order of time. */
  async entries(event: AuditEvent): Promise<readonly AuditEntry[]> {
    const holdfast = await this.open();
    return holdfast.audit.list({ event, limit: 50_000 });
  }

  /** Lets go whoever waits for this file. */
  touch(name: string): void {
    writeFileSync(this.file(name), "");
  }
  async untilThere(name: string): Promise<void> {
    while (!existsSync(this.file(name))) await sleep(5);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) child.kill("SIGKILL");
    await Promise.all([...this.#clients].map((client) => client.abandon()));
    await Promise.all([...this.#open].map((holdfast) => holdfast.close()));
    rmSync(this.dir, { recursive: true, force: true });
  }
}

/** The wall clock shows it to the millisecond, and may be slewed meanwhile. */
const CLOCK_GRAIN_MS = 5;

/** True for a grant that began when the lease of `held`, as it was when `held` was taken, had run out. */
export function isAfterLeaseOf(held: GrantRecord): (taken: GrantRecord) => boolean {
  return (taken) => Date.parse(taken.created_at) >= Date.parse(held.lease_expires_at) - CLOCK_GRAIN_MS;
}
