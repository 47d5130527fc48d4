/**
 * Workers, their children and the database are killed, frozen and started anew, one after the other, while jobs are added
 * all along and a process of its own looks for what must never be. In the end everything that was acknowledged is done, once.
 */
import type { ChildProcess } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { expect } from "vitest";
import type { EnqueueOptions } from "../../src/jobs/define.js";
import type { Jobs } from "../../src/jobs/jobs.js";
import type { JobRecord } from "../../src/jobs/model.js";
import { isHoldfastError } from "../../src/support/errors.js";
import { listYounger, processAt } from "../../src/support/process-table.js";
import { ownServer, type TestServer } from "../postgres/server.js";
import { newPostgresStore } from "../postgres/stores.js";
import { type Checker, Crew, stateOf } from "./crew.js";
import { ENDS, type Hands } from "./hands.js";
import type { StoreKind } from "./place.js";

const LIMIT = { timeout: 280_000 };
const LEASE = "2s";
/** The most that one look at the record brings. */
const MOST_ENTRIES = 50_000;
const CAP = 5;
const PROJECT_CAP = 3;
const PROJECTS = 3;
const KINDS = ["io", "child", "locked", "sh"] as const;

class Chaos {
  readonly crew: Crew;
  readonly #server: TestServer | null;
  readonly #acknowledged = new Map<number, JobRecord>();
  readonly #workers: ChildProcess[] = [];
  hands!: Hands;
  jobs!: Jobs;
  checker!: Checker;

  constructor(on: StoreKind) {
    this.#server = on === "postgres" ? ownServer({ isDurable: true }) : null;
    this.crew = new Crew(on, this.#server === null ? undefined : newPostgresStore(this.#server));
  }

  async begin(): Promise<void> {
    const [hands, holdfast] = [await this.crew.place.hands(), await this.crew.place.holdfast("user:ann")];
    this.hands = hands;
    this.jobs = await this.crew.place.jobs();
    await holdfast.withLock("rows", {}, (lease) =>
      lease.transaction((sql) => {
        const text = "CREATE TABLE ends (job INTEGER, kind TEXT)";
        return sql.answersAtOnce ? (sql.rows(text) as never) : (sql.query(text) as never);
      }),
    );
    await hands.setCaps({ maxGlobalJobs: CAP, maxJobsPerProject: PROJECT_CAP });
    this.checker = await this.crew.startChecker();
    for (let at = 0; at < 2; at += 1) this.#workers.push(await this.crew.start(LEASE));
  }

  /** What was not acknowledged, because the database was away, need not be there. */
  async add(count: number): Promise<void> {
    for (let at = 0; at < count; at += 1) {
      const kind = KINDS[at % KINDS.length] ?? "io";
      const options: EnqueueOptions = {
        project: `p${at % PROJECTS}`,
        attempts: 1_000,
        ...(kind === "child" ? { class: "cpu" } : {}),
        ...(kind === "locked" ? { locks: [{ resource: `k${at % 2}`, mode: "write" }] } : {}),
        ...(kind === "sh" ? { command: ["sh", "-c", `echo $$ 0 $PPID >> ${this.crew.file}; sleep 0.1`] } : {}),
      };
      try {
        const job = await this.jobs.enqueue(kind, { do: "busy", ms: 50, file: this.crew.file }, options);
        this.#acknowledged.set(job.id, job);
      } catch (error) {
        if (!isHoldfastError(error)) throw error;
      }
    }
  }

  readonly faults = {
    "worker killed": async (): Promise<void> => {
      const worker = this.#workers.shift();
      worker?.kill("SIGKILL");
      this.#workers.push(await this.crew.start(LEASE));
    },
    "worker frozen": async (): Promise<void> => {
      const worker = this.#first();
      writeFileSync(`${this.crew.file}.${worker.pid}`, "");
      await expect.poll(() => stateOf(worker), LIMIT).toBe("T");
      const slots = () => this.hands.rows("SELECT job FROM job_slots WHERE worker = ?1", this.crew.nameOf(worker));
      await expect.poll(slots, LIMIT).toEqual([]);
      worker.kill("SIGCONT");
    },
    "children killed": async (): Promise<void> => {
      await expect.poll(() => this.#signalChildren("SIGKILL"), LIMIT).toBeGreaterThan(0);
    },
    "children frozen": async (): Promise<void> => {
      await expect.poll(() => this.#signalChildren("SIGSTOP"), LIMIT).toBeGreaterThan(0);
      const latest = async () => (await this.hands.rows<Latest>("SELECT max(until_ms) AS latest FROM job_slots"))[0];
      const before = (await latest())?.latest ?? 0;
      await expect.poll(async () => (await latest())?.latest ?? before + 1, LIMIT).toBeGreaterThan(before);
      this.#signalChildren("SIGCONT");
    },
    "keepers killed": async (): Promise<void> => {
      const ours = new Set(this.#workers.map(({ pid }) => pid));
      for (const { pid, parent } of listYounger()) if (ours.has(parent) && isKeeper(pid)) process.kill(pid, "SIGKILL");
    },
    "cap lowered": async (): Promise<void> => {
      await expect
        .poll(async () => (await this.hands.rows("SELECT job FROM job_slots")).length, LIMIT)
        .toBeGreaterThan(1);
      await this.#changeCap(1);
      await this.#changeCap(CAP);
    },
    "database crashed": async (): Promise<void> => {
      const control = this.#server?.control;
      if (control === undefined || control === null) return;
      control.crash();
      control.start();
    },
  };

  /** The checker has looked between any two changes. */
  async #changeCap(maxGlobalJobs: number): Promise<void> {
    const looked = (await this.checker.report()).looks;
    await expect.poll(async () => (await this.checker.report()).looks, LIMIT).toBeGreaterThan(looked + 1);
    await this.hands.setCaps({ maxGlobalJobs });
  }

  #first(): ChildProcess {
    const [worker] = this.#workers;
    if (worker === undefined) throw new RangeError("no workers");
    return worker;
  }

  /** Those that run just now; how many. */
  #signalChildren(signal: NodeJS.Signals): number {
    const ours = new Set(this.#workers.map(({ pid }) => pid));
    const alive = this.crew.begun.filter(({ pid }) => ours.has(processAt(pid)?.parent));
    return alive.filter(({ pid }) => isSent(pid, signal)).length;
  }

  /** Pauses between attempts are cut short; nothing else is helped along. */
  async untilAllDone(): Promise<void> {
    const left = async (): Promise<unknown[]> => {
      await this.hands.later();

      return this.hands.rows("SELECT job, state, error FROM jobs WHERE state NOT IN ('done', 'failed', 'cancelled')");
    };
    await expect.poll(left, LIMIT).toEqual([]);
  }

  async judge(): Promise<void> {
    const { hands } = this;
    const report = await this.checker.report();
    expect(report.found).toEqual([]);
    expect(report.looks).toBeGreaterThan(10);
    const states = await hands.rows<{ job: number; state: string }>("SELECT job, state FROM jobs");
    const stateOfJob = new Map(states.map(({ job, state }) => [Number(job), state]));
    for (const id of this.#acknowledged.keys()) expect(stateOfJob.get(id), `job ${id}`).toBe("done");
    const ends = await hands.rows<{ job: number }>("SELECT job FROM ends");
    const own = [...this.#acknowledged.values()].filter(({ command }) => command === null).map(({ id }) => id);
    const written = ends.map(({ job }) => Number(job)).filter((job) => this.#acknowledged.has(job));
    expect(written.sort(byNumber), "a row for each that is done, and no more").toEqual(own.sort(byNumber));
    expect(await hands.rows("SELECT job FROM job_slots")).toEqual([]);
    expect(await hands.rows("SELECT name FROM job_gates WHERE running <> 0")).toEqual([]);
    expect(await hands.rows("SELECT project FROM job_projects WHERE running <> 0 OR map_running <> 0")).toEqual([]);
    expect(await hands.locks()).toEqual([]);
    expect(await hands.tickets()).toBe(0);
    await this.#judgeTheRecord();
  }

  /** The record has everything in the order in which it was committed. */
  async #judgeTheRecord(): Promise<void> {
    const holdfast = await this.crew.place.holdfast();
    expect((await holdfast.audit.verify()).ok).toBe(true);
    const running = new Set<number>();
    const done = new Map<string, number>();
    let cap: number | null = null;
    const entries = await holdfast.audit.list({ resource: "jobs", limit: MOST_ENTRIES });
    expect(entries.length).toBeLessThan(MOST_ENTRIES);
    for (const { resource, fencing_token: fencingToken, details } of entries) {
      const fence = fencingToken ?? 0;
      if (details.change === "caps set") cap = (details.maxGlobalJobs as number | null | undefined) ?? cap;
      else if (details.change === "started") {
        running.add(fence);
        if (cap !== null) expect(running.size, `the start of ${resource}`).toBeLessThanOrEqual(cap);
      } else if (ENDS.has(String(details.change)) && fence > 0) {
        expect(running.delete(fence), `run ${fence} ends once`).toBe(true);
        if (details.change === "done") done.set(resource, (done.get(resource) ?? 0) + 1);
      }
    }
    expect([...running]).toEqual([]);
    for (const id of this.#acknowledged.keys()) expect(done.get(`jobs/${id}`), `job ${id}`).toBe(1);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.crew[Symbol.asyncDispose]();
    this.#server?.control?.stop();
  }
}

interface Latest {
  readonly latest: number | null;
}

function isKeeper(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("keeper-process");
  } catch {
    return false;
  }
}

function isSent(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

function byNumber(one: number, other: number): number {
  return one - other;
}

export type Fault = keyof Chaos["faults"];

interface Trial {
  readonly rounds: number;
  /** Added while each fault goes on. */
  readonly jobs: number;
  /** All of them, unless said otherwise. */
  readonly faults?: readonly Fault[];
}

export async function survive(on: StoreKind, { rounds, jobs, faults }: Trial): Promise<void> {
  await using chaos = new Chaos(on);
  await chaos.begin();
  const all = faults ?? (Object.keys(chaos.faults) as Fault[]);
  for (let round = 0; round < rounds; round += 1)
    for (const fault of all) await Promise.all([chaos.add(jobs), chaos.faults[fault]()]);
  await chaos.untilAllDone();
  await chaos.judge();
}
