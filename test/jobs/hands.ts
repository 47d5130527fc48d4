/** Jobs by hand: every step of the scheduler as one call, without a worker, and the tables to look at. */
import type { Holdfast } from "../../src/index.js";
import type { Caps } from "../../src/jobs/cap-names.js";
import { type EnqueueOptions, parseNewJob } from "../../src/jobs/define.js";
import type { JobRecord, JobRun } from "../../src/jobs/model.js";
import { rows } from "../../src/jobs/steps/ask.js";
import { type ProjectSettings, setCaps, setProject } from "../../src/jobs/steps/caps.js";
import { cancel, enqueue, retryJob } from "../../src/jobs/steps/enqueue.js";
import { round } from "../../src/jobs/steps/round.js";
import { beat, type Pulse, settleAll } from "../../src/jobs/steps/settle.js";
import type { Ending } from "../../src/jobs/steps/slots.js";
import { type TurnOf, turn } from "../../src/jobs/steps/turn.js";
import { kernelOf, type Script } from "../../src/lease/kernel.js";
import { newLeaseToken } from "../../src/support/lease-token.js";

/** Changes that end a run. */
export const ENDS: ReadonlySet<string> = new Set(["done", "failed", "cancelled", "handed back"]);
const DONE: Ending = { kind: "done", result: null };

export class Hands {
  readonly #holdfast: Holdfast;

  constructor(holdfast: Holdfast) {
    this.#holdfast = holdfast;
  }

  run<T>(script: () => Script<T>): Promise<T> {
    const { scripts } = kernelOf(this.#holdfast);
    if (scripts === null) throw new RangeError("a store without jobs");
    return scripts.run(script, { durable: false });
  }

  get #party() {
    return kernelOf(this.#holdfast).requester;
  }

  rows<R>(sql: string, ...values: readonly unknown[]): Promise<R[]> {
    return this.run(() => rows<R>(sql, ...values));
  }

  async add(options: EnqueueOptions, kind = "k"): Promise<JobRecord> {
    const job = parseNewJob(kind, null, options, {}, () => "default");
    return (await this.run(() => enqueue(job, this.#party))).job;
  }

  /** Many in one step. */
  async addMany(count: number, options: EnqueueOptions): Promise<void> {
    const [job, party] = [parseNewJob("k", null, options, {}, () => "default"), this.#party];
    await this.run(function* () {
      for (let at = 0; at < count; at += 1) yield* enqueue(job, party);
    });
  }

  async turn(of: Partial<TurnOf> = {}): Promise<readonly JobRun[]> {
    return (await this.run(() => turn(this.#turnOf(of)))).runs;
  }

  /** Settles these runs and takes a turn, in one step. */
  async round(runs: readonly JobRun[], of: Partial<TurnOf> = {}, ending: Ending = DONE) {
    const settlements = runs.map(({ job, fence }) => ({ job: job.id, fence, ending }));
    const { settled, taken } = await this.run(() => round(settlements, this.#turnOf(of), this.#party));
    return { settled, runs: taken.runs };
  }

  #turnOf(of: Partial<TurnOf>): TurnOf {
    const full = { worker: "w", node: "n", has: ["kind:k"], concurrency: 100, room: 1, leaseMs: 30_000, ...of };
    return { inHand: [], party: this.#party, newToken: newLeaseToken, ...full };
  }

  settle({ job, fence }: JobRun, ending: Ending = DONE): Promise<boolean> {
    return this.run(() => settleAll([{ job: job.id, fence, ending }], this.#party)).then(
      ([isSettled]) => isSettled === true,
    );
  }

  beat({ job, fence }: JobRun): Promise<Pulse[]> {
    return this.run(() => beat([{ job: job.id, fence }]));
  }

  cancel(id: number): Promise<JobRecord | null> {
    return this.run(() => cancel(id, this.#party));
  }

  retry(id: number): Promise<JobRecord | null> {
    return this.run(() => retryJob(id, this.#party));
  }

  setCaps(caps: Caps): Promise<void> {
    return this.run(() => setCaps(caps, this.#party));
  }

  setProject(project: string, settings: ProjectSettings): Promise<unknown> {
    return this.run(() => setProject(project, settings, this.#party));
  }

  /** As if the lease of this run had run out; its locks with it. */
  async lapse({ job }: JobRun): Promise<void> {
    await this.rows("UPDATE job_slots SET until_ms = 0 WHERE job = ?1", job.id);
  }

  /** As if it were later: whoever waits for a time or asks again now and then is due. */
  async later(): Promise<void> {
    await this.rows("UPDATE jobs SET run_at = 0 WHERE state = 'scheduled'");
    await this.rows("UPDATE jobs SET ask_at = 0 WHERE state = 'waiting' AND ticket IS NOT NULL");
  }

  /** What the record says of a job. */
  async entries(id: number): Promise<Readonly<Record<string, unknown>>[]> {
    return (await this.#record(id)).map(({ details }) => details);
  }

  /** The numbers of its runs that ended, as often as they did. */
  async ends(id: number): Promise<(number | null)[]> {
    const ends = (await this.#record(id)).filter(({ details }) => ENDS.has(String(details.change)));
    return ends.map(({ fencing_token: fence }) => fence);
  }

  async #record(id: number) {
    const entries = await this.#holdfast.audit.list({ resource: "jobs" });
    return entries.filter(({ resource }) => resource === `jobs/${id}`);
  }

  get isOnServer(): boolean {
    return !kernelOf(this.#holdfast).url.startsWith("sqlite:");
  }

  /** Ids of the locks that are held, in order; only of jobs, or all. */
  async locks({ ofJobs = false } = {}): Promise<string[]> {
    const table = this.isOnServer ? "holdfast.grants" : "dal_locks";
    const held = await this.rows<{ lock_id: string; owner: string }>(`SELECT lock_id, owner FROM ${table}`);
    const wanted = ofJobs ? held.filter(({ owner }) => owner.startsWith("job:")) : held;
    return wanted.map((lock) => lock.lock_id).sort();
  }

  /** Ids of the locks that slots know of, in order. */
  async locksOfSlots(): Promise<string[]> {
    const slots = await this.rows<{ grants: string }>("SELECT grants FROM job_slots");
    const all = slots.flatMap(({ grants }) => JSON.parse(grants) as { lockId: string }[]);
    return all.map(({ lockId }) => lockId).sort();
  }

  /** How many places in line there are. */
  async tickets(): Promise<number> {
    return (await this.rows(`SELECT 1 FROM ${this.isOnServer ? "holdfast.tickets" : "tickets"}`)).length;
  }

  async state(id: number): Promise<string | undefined> {
    return (await this.rows<{ state: string }>("SELECT state FROM jobs WHERE job = ?1", id))[0]?.state;
  }
}
