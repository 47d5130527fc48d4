/**
 * Runs scripts on a ledger: each request of the generator is answered inside one step, by the same operations that the
 * lock verbs use, and their changes are applied at once, so that the next request sees them.
 *
 * A verb that refuses throws into the script, which may go on: it had changed nothing yet. Whatever else fails, a
 * statement or a change half made, ends the step with nothing changed.
 */

import { HoldfastError } from "../../base/errors.js";
import type { AuditDraft } from "../../lock/audit.js";
import type { Grant, Ticket } from "../../lock/grant.js";
import { epochTimeOf } from "../../lock/job-time.js";
import { type Key, treesOf } from "../../lock/key.js";
import type { Manifest } from "../../lock/manifest.js";
import type {
  AcquireRequest,
  Answer,
  Ask,
  GrantRef,
  JobLocks,
  Party,
  Script,
  ScriptEntry,
  Scripts,
} from "../contract.js";
import type { Ledger, Outcome, ScriptStep } from "../ledger.js";
import { acquire } from "../operations/acquire.js";
import type { OperationContext } from "../operations/context.js";
import { leave } from "../operations/leave.js";
import { findOwn, requireOwn } from "../operations/live-grant.js";
import { nestedIn, release } from "../operations/release.js";
import { renew } from "../operations/renew.js";
import { settleBefore } from "../operations/settle.js";

/** Who in this process listens, by store. */
const listening = new Map<string, Set<() => void>>();

export function createScripts(
  { scripting, url }: Ledger,
  context: OperationContext,
  after: { wake(ticket: Ticket): void; sweep(manifests: readonly Manifest[]): void },
): Scripts | null {
  if (scripting === null) return null;
  return {
    async run(script, { durable }) {
      let answers: Answers | undefined;
      const result = await scripting.transact((step) => {
        answers = new Answers(step, context);
        return answers.run(script());
      }, durable);
      for (const ticket of answers?.woken ?? []) after.wake(ticket);
      after.sweep(answers?.settled ?? []);
      if (answers?.isAwaited) for (const onWake of [...(listening.get(url) ?? [])]) onWake();
      return result;
    },
    listen(onWake) {
      const all = listening.get(url) ?? new Set();
      listening.set(url, all.add(onWake));
      return { [Symbol.dispose]: () => all.delete(onWake) };
    },
    look: (script) => scripting.look((step) => lookWith(step, script())),
  };
}

class Answers {
  readonly woken: Ticket[] = [];
  /** Publishes that nobody had finished, on keys that were granted. */
  readonly settled: Manifest[] = [];
  isAwaited = false;
  readonly #step: ScriptStep;
  readonly #context: OperationContext;

  constructor(step: ScriptStep, context: OperationContext) {
    this.#step = step;
    this.#context = context;
  }

  run<T>(script: Script<T>): T {
    for (let next = script.next(); ; ) {
      if (next.done) return next.value;
      let answer: unknown;
      try {
        answer = this.#answer(next.value);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        next = script.throw(error.cause);
        continue;
      }
      next = script.next(answer);
    }
  }

  #answer(ask: Ask): unknown {
    switch (ask.ask) {
      case "rows":
        return this.#step.rows(ask.sql, ask.values);
      case "time":
        return epochTimeOf(this.#step.now);
      case "fence":
        return this.#step.view([ask.tree]).mint(ask.tree);
      case "acquire":
        return this.#done(refusable(() => this.#acquire(ask.request)));
      case "renew":
        return this.#done(refusable(() => renew(this.#view(ask.locks.grants), this.#refsOf(ask.locks), null)));
      case "check":
        return refusable(() => {
          for (const ref of this.#refsOf(ask.locks)) requireOwn(this.#view([ref]), ref);
        });
      case "leave":
        return this.#done(leave(this.#view(ask.wants), ask.ticketId, ask.wants, ask.party, null, this.#context));
      case "release":
        return this.#release(this.#refsOf(ask.locks), ask.party);
      case "audit":
        return this.#step.apply({ audit: [draftOf(ask.entry, this.#step)] });
      case "wake":
        this.isAwaited = true;
        return undefined;
      case "express":
        return undefined;
      case "caller":
        return this.#step.caller(ask.body);
    }
  }

  /** What a publish left on the keys is settled in the same step, as everywhere. */
  #acquire(request: AcquireRequest): Outcome<Answer> {
    const view = this.#view(request.wants);
    const outcome = acquire(view, request, this.#context);
    const { result, changes } = outcome;
    if (changes === null) return outcome;
    const keys = (changes.adds ?? []).map(({ resource }) => resource);
    const after = settleBefore(view, changes, keys, request.party, this.#context.witness);
    this.settled.push(...after.settled);
    return { result, changes: after.changes };
  }

  /** A lock of the job that is not there any more keeps an empty hash, which fits no grant. */
  #refsOf({ job, grants }: JobLocks): GrantRef[] {
    return grants.map((lock) => {
      const grant = this.#view([lock]).find(lock.resource, lock.lockId);
      return { ...lock, tokenHash: grant?.owner === `job:${job}` ? grant.tokenHash : "" };
    });
  }

  /** Those that are still there, with whatever nests in them, however deep. */
  #release(refs: readonly GrantRef[], party: Party): void {
    const view = this.#view(refs);
    const held = refs.map((ref) => findOwn(view, ref)).filter((grant) => grant !== null);
    if (held.length === 0) return;
    held.push(...nestedIn(view.near(held.map((grant) => grant.resource)), held));
    this.#done(release(view, held.map(refOf), party, this.#context));
  }

  #view(about: readonly { readonly resource: Key }[]) {
    return this.#step.view(treesOf(about));
  }

  #done<T>({ result, changes }: Outcome<T>): T {
    if (changes === null) return result;
    this.#step.apply(changes);
    this.woken.push(...(changes.heirs ?? []), ...(changes.wake ?? []));
    return result;
  }
}

function lookWith<T>(step: Pick<ScriptStep, "now" | "rows">, script: Script<T>): T {
  for (let next = script.next(); ; ) {
    if (next.done) return next.value;
    const { value: ask } = next;
    if (ask.ask !== "rows" && ask.ask !== "time") throw new RangeError(`a look asks for ${ask.ask}`);
    next = script.next(ask.ask === "rows" ? step.rows(ask.sql, ask.values) : epochTimeOf(step.now));
  }
}

/** Says of an error that nothing had been changed when it was thrown. */
class Refusal extends Error {}

function refusable<T>(verb: () => T): T {
  try {
    return verb();
  } catch (error) {
    throw error instanceof HoldfastError ? new Refusal("refused", { cause: error }) : error;
  }
}

function refOf({ resource, lockId, tokenHash }: Grant): GrantRef {
  return { resource, lockId, tokenHash };
}

function draftOf({ event, resource, party, fencingToken, details }: ScriptEntry, { now }: ScriptStep): AuditDraft {
  const { owner, holderId } = party;
  return { at: now.wallMs, event, resource, owner, holderId, fencingToken, lockId: null, details };
}
