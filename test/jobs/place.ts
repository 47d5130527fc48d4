/** A folder with a store on SQLite and jobs in it, gone when it is disposed. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { vi } from "vitest";
import { type Holdfast, openHoldfast } from "../../src/index.js";
import { type Jobs, openJobs } from "../../src/jobs/jobs.js";
import type { Worker, WorkerOptions } from "../../src/jobs/worker.js";
import type { Profile } from "../../src/lock/grant.js";
import { Hands } from "./hands.js";

// A busy machine may take seconds for what takes milliseconds.
vi.setConfig({ testTimeout: 300_000 });

export class Place {
  readonly dir = mkdtempSync(join(tmpdir(), "jobs-"));
  readonly #open: Holdfast[] = [];
  readonly #workers: Worker[] = [];

  readonly #stated: { readonly profiles?: Readonly<Record<string, Profile>> };

  constructor(profiles?: Readonly<Record<string, Profile>>) {
    this.#stated = profiles === undefined ? {} : { profiles };
  }

  get store(): string {
    return `sqlite:${join(this.dir, "store.db")}`;
  }

  async holdfast(owner = "service:queue"): Promise<Holdfast> {
    const holdfast = await openHoldfast({ store: this.store, owner, heart: "loop", ...this.#stated });
    this.#open.push(holdfast);
    return holdfast;
  }

  async jobs(): Promise<Jobs> {
    return openJobs(await this.holdfast());
  }

  async hands(): Promise<Hands> {
    return new Hands(await this.holdfast());
  }

  /** In a store of its own. */
  async handsOfNewStore(): Promise<Hands> {
    const store = `sqlite:${join(this.dir, `${this.#open.length}.db`)}`;
    const holdfast = await openHoldfast({ store, owner: "service:queue", heart: "loop" });
    this.#open.push(holdfast);
    return new Hands(holdfast);
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
