/** Answers the requests of a script inside its transaction, by statements to the server. */

import { HoldfastError } from "../../../base/errors.js";
import type { Clock } from "../../../platform/clock.js";
import type { Ask, JobLocks, Party, Script, ScriptEntry, Sql, StepTime } from "../../contract.js";
import { call } from "../connection/call.js";
import type { Session } from "../connection/connection.js";
import { withinLimit } from "../dal/caller-statements.js";
import { acquireCall, leaveCall, partyOf, readAnswer } from "../locks/locks.js";
import type { ToldManifest } from "../publish/manifest-records.js";
import type { ToldAnswer } from "../records.js";
import { asPostgres } from "./sqlite-to-postgres.js";

/** The caller's statements in a step hold up everybody's jobs. */
const CALLER_MS = 4_000;

/** Says of an error that nothing had been changed when it was thrown. */
export class Refusal extends Error {}

export class Answers {
  readonly #session: Session;
  readonly #now: number;
  readonly #store: string;
  readonly #clock: Clock;
  readonly #entries: ScriptEntry[] = [];
  /** Publishes that nobody had finished, on keys that were granted: to be settled once the step is done. */
  readonly left: { readonly manifests: readonly ToldManifest[]; readonly party: Party }[] = [];
  #hasStarted = false;
  #hasQueued = false;
  #isAwaited = false;

  constructor(session: Session, now: number, store: string, clock: Clock) {
    this.#session = session;
    this.#now = now;
    this.#store = store;
    this.#clock = clock;
  }

  async to(ask: Ask): Promise<unknown> {
    switch (ask.ask) {
      case "rows":
        return this.#session.stepQuery(asPostgres(ask.sql), ask.values);
      case "time":
        return timeOf(this.#now);
      case "fence":
        this.#hasStarted = true;
        return Number(await this.#ask(call("job_fence", {})));
      case "acquire": {
        const told = await this.#refusable(acquireCall(ask.request, false, this.#store));
        const answer = readAnswer(told as ToldAnswer, this.#clock, ask.request);
        this.#hasQueued ||= answer.kind === "queued";
        this.#note(told as ToldAnswer, ask.request.party);
        return answer;
      }
      case "renew":
        return this.#refusable(call("job_renew", jobLocks(ask.locks)));
      case "check":
        return ask.locks.grants.length === 0 ? undefined : this.#refusable(call("job_check", jobLocks(ask.locks)));
      case "leave":
        return this.#ask(leaveCall(ask.ticketId, ask.wants, ask.party, null, this.#store));
      case "release":
        return this.#refusable(call("job_release", { ...jobLocks(ask.locks), ...partyOf(ask.party) }));
      case "audit":
        this.#entries.push(ask.entry);
        return undefined;
      case "wake":
        this.#isAwaited = true;
        return undefined;
      case "express":
        return this.#express(call(ask.name, ask.values), ask.name);
      case "caller":
        return this.#caller(ask.body);
    }
  }

  /**
   * Puts the entries on record, and gives the settings for the commit. A start is on the disk before its worker hears of
   * it, also when the script need not be durable: a worker goes on when the server has crashed.
   */
  async finish(durable: boolean): Promise<string> {
    await this.#tell();
    if (this.#isAwaited) await this.#ask(call("job_wake", {}));
    if (!durable && !this.#hasStarted) return "SET LOCAL synchronous_commit TO off; ";
    return this.#hasQueued ? "SET LOCAL synchronous_commit TO DEFAULT; " : "";
  }

  /** What a function does by itself it also puts on record: entries come in the order they were made. */
  async #express(calling: Call, name: string): Promise<unknown> {
    await this.#tell();
    return this.took(name, await this.#ask(calling));
  }

  /** The answer of a function that was called. */
  took(name: string, told: unknown): unknown {
    this.#hasStarted ||= name === "job_round" && (told as { readonly runs: readonly unknown[] }).runs.length > 0;
    return told;
  }

  #note(told: ToldAnswer, party: Party): void {
    if (told.kind === "granted" && told.left !== undefined) this.left.push({ manifests: told.left, party });
  }

  async #tell(): Promise<void> {
    if (this.#entries.length > 0) await this.#ask(call("job_tell", entriesOf(this.#entries.splice(0))));
  }

  async #ask({ text, values, name }: Call): Promise<unknown> {
    const [row] = await this.#session.stepQuery(text, values, name);
    return Object.values(row ?? {})[0];
  }

  /** A verb that refuses leaves the transaction as it was. */
  async #refusable(verb: Call): Promise<unknown> {
    const { query } = this.#session;
    await query("SAVEPOINT verb");
    try {
      const told = await this.#ask(verb);
      await query("RELEASE SAVEPOINT verb");
      return told;
    } catch (error) {
      if (!(error instanceof HoldfastError) || error.code === "E_STORE_UNAVAILABLE") throw error;
      await query("ROLLBACK TO SAVEPOINT verb");
      throw new Refusal("refused", { cause: error });
    }
  }

  #caller(body: (sql: Sql) => unknown): Promise<unknown> {
    const { callersQuery, cut } = this.#session;
    return withinLimit(body, callersQuery, CALLER_MS, cut);
  }
}

type Call = ReturnType<typeof call>;

function jobLocks({ job, grants }: JobLocks) {
  return { keys: grants.map(({ resource }) => resource), lock_ids: grants.map(({ lockId }) => lockId), job };
}

/** The server's clock is the only one there is; that it was started anew means nothing to workers elsewhere. */
function timeOf(now: number): StepTime {
  return { ms: now, wallMs: now, epoch: "server" };
}

function entriesOf(entries: readonly ScriptEntry[]) {
  return {
    jobs: entries.map(({ resource }) => Number(resource.slice(resource.indexOf("/") + 1))),
    owners: entries.map(({ party }) => party.owner),
    holder_ids: entries.map(({ party }) => party.holderId),
    fences: entries.map(({ fencingToken }) => fencingToken),
    details: entries.map(({ details }) => JSON.stringify(details)),
  };
}

/** For a script that only looks. */
export async function lookWith<T>({ stepQuery }: Session, script: Script<T>, store: string): Promise<T> {
  for (let next = script.next(); ; ) {
    if (next.done) return next.value;
    const { value: ask } = next;
    if (ask.ask === "rows") {
      next = script.next(await stepQuery(asPostgres(ask.sql), ask.values));
    } else if (ask.ask === "time") {
      const { text, values } = call("job_time", { store });
      const [row] = await stepQuery(text, values);
      next = script.next(timeOf(Number(row?.job_time)));
    } else throw new RangeError(`a look asks for ${ask.ask}`);
  }
}
