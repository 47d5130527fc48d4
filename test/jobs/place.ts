/** A store with jobs in it, on SQLite or PostgreSQL, gone when it is disposed. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { vi } from "vitest";
import { type Holdfast, openHoldfast } from "../../src/index.js";
import { type Jobs, openJobs } from "../../src/jobs/jobs.js";
import type { Worker, WorkerOptions } from "../../src/jobs/worker.js";
import type { Profile } from "../../src/lock/grant.js";
import { administer, sharedServer } from "../postgres/server.js";
import { newPostgresStore } from "../postgres/stores.js";
import { Hands } from "./hands.js";

// A busy machine may take seconds for what takes milliseconds.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

/** The stores that have jobs. */
export const STORES = ["sqlite", "postgres"] as const;
export type StoreKind = (typeof STORES)[number];

/** Tests of a file come one after the other: they share a database, and find it empty. */
let database: Promise<string> | undefined;
const EMPTY = [
  `truncate holdfast.grants, holdfast.tickets, holdfast.audit, holdfast.trees, holdfast.jobs, holdfast.job_projects,
     holdfast.job_flows, holdfast.job_slots, holdfast.job_kinds, holdfast.job_workers, holdfast.job_needs
     restart identity`,
  "update holdfast.job_gates set cap = null, running = 0",
  "update holdfast.job_clock set vt = 0",
  "update holdfast.job_keep set keep_ms = case state when 'failed' then 7776000000 else 604800000 end",
  "update holdfast.store set store_id = null, levels = null, profile_prefixes = null, profile_names = null",
];

async function emptyPostgres(): Promise<string> {
  database ??= sharedServer().then(newPostgresStore);
  await administer(await database, ...EMPTY);
  return database;
}

export class Place {
  readonly dir = mkdtempSync(join(tmpdir(), "jobs-"));
  readonly #on: StoreKind;
  readonly #open: Holdfast[] = [];
  readonly #workers: Worker[] = [];
  #store: Promise<string> | undefined;
  #made = 0;

  readonly #stated: { readonly profiles?: Readonly<Record<string, Profile>> };

  /** With `store`, in one that is there already. */
  constructor(on: StoreKind, profiles?: Readonly<Record<string, Profile>>, store?: Promise<string>) {
    this.#on = on;
    this.#stated = profiles === undefined ? {} : { profiles };
    this.#store = store;
  }

  store(): Promise<string> {
    this.#store ??= this.#newStore();
    return this.#store;
  }

  async #newStore(): Promise<string> {
    this.#made += 1;
    return this.#on === "sqlite" ? `sqlite:${join(this.dir, `${this.#made}.db`)}` : emptyPostgres();
  }

  async holdfast(owner = "service:queue"): Promise<Holdfast> {
    const holdfast = await openHoldfast({ store: await this.store(), owner, heart: "loop", ...this.#stated });
    this.#open.push(holdfast);
    return holdfast;
  }

  async jobs(): Promise<Jobs> {
    return openJobs(await this.holdfast());
  }

  async hands(): Promise<Hands> {
    return new Hands(await this.holdfast());
  }

  /** In a store that is empty, once more. */
  async handsOfNewStore(): Promise<Hands> {
    for (const holdfast of this.#open.splice(0)) await holdfast.close();
    this.#store = this.#newStore();
    return this.hands();
  }

  work(jobs: Jobs, options: WorkerOptions = {}): Worker {
    const worker = jobs.work({ poll: 10, ...options });
    this.#workers.push(worker);
    return worker;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.stop({ grace: 0 })));
    for (const holdfast of this.#open) await holdfast.close();
    rmSync(this.dir, { recursive: true, force: true, maxRetries: 10 });
  }
}
