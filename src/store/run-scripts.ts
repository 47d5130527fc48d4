/**
 * Running scripts on a ledger: each ask of the generator is answered inside one step, by the same operations that the lock
 * verbs use, and what they change is applied at once, so that the next ask sees it. A coded error is thrown into the
 * script, which may go on; anything else ends the step with nothing changed.
 */
import type { AuditDraft } from "../lock/audit.js";
import type { Grant, Ticket } from "../lock/grant.js";
import { type Key, treeOf } from "../lock/key.js";
import { HoldfastError } from "../support/errors.js";
import type { Ask, GrantRef, Party, Script, ScriptEntry, Scripts, StepTime } from "./contract.js";
import type { Ledger, Outcome, ScriptStep } from "./ledger.js";
import { acquire } from "./operations/acquire.js";
import type { OperationContext } from "./operations/context.js";
import { findOwn, requireOwn } from "./operations/live-grant.js";
import { nestedIn, release } from "./operations/release.js";
import { renew } from "./operations/renew.js";

export function createScripts(
  { scripting }: Ledger,
  context: OperationContext,
  wake: (ticket: Ticket) => void,
): Scripts | null {
  if (scripting === null) return null;
  return {
    async run(script, { durable }) {
      let woken: Ticket[] = [];
      const result = await scripting.transact((step) => {
        const answers = new Answers(step, context);
        woken = answers.woken;
        return answers.run(script());
      }, durable);
      for (const ticket of woken) wake(ticket);
      return result;
    },
  };
}

class Answers {
  readonly woken: Ticket[] = [];
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
        if (!(error instanceof HoldfastError)) throw error;
        next = script.throw(error);
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
        return timeOf(this.#step);
      case "fence":
        return this.#step.view([ask.tree]).mint(ask.tree);
      case "acquire":
        return this.#done(acquire(this.#view(ask.request.wants), ask.request, this.#context));
      case "renew":
        return this.#done(renew(this.#view(ask.grants), ask.grants, null));
      case "check":
        for (const grant of ask.grants) requireOwn(this.#view(ask.grants), grant);
        return undefined;
      case "release":
        return this.#release(ask.grants, ask.party);
      case "audit":
        return this.#step.apply({ audit: [draftOf(ask.entry, this.#step)] });
      case "caller":
        return this.#step.caller(ask.body);
    }
  }

  /** Those that are still there, with whatever nests in them. */
  #release(refs: readonly GrantRef[], party: Party): void {
    const view = this.#view(refs);
    const held = refs.map((ref) => findOwn(view, ref)).filter((grant) => grant !== null);
    if (held.length === 0) return;
    const nested = nestedIn(view.near(held.map((grant) => grant.resource)), held);
    this.#done(release(view, [...held, ...nested].map(refOf), party, this.#context));
  }

  #view(about: readonly { readonly resource: Key }[]) {
    return this.#step.view([...new Set(about.map(({ resource }) => treeOf(resource)))]);
  }

  #done<T>({ result, changes }: Outcome<T>): T {
    if (changes === null) return result;
    this.#step.apply(changes);
    this.woken.push(...(changes.wake ?? []));
    return result;
  }
}

function refOf({ resource, lockId, tokenHash }: Grant): GrantRef {
  return { resource, lockId, tokenHash };
}

function timeOf({ now }: ScriptStep): StepTime {
  return { ms: now.bootMs, epoch: now.bootId, wallMs: now.wallMs };
}

function draftOf({ event, resource, party, fencingToken, details }: ScriptEntry, { now }: ScriptStep): AuditDraft {
  const { owner, holderId } = party;
  return { at: now.wallMs, event, resource, owner, holderId, fencingToken, lockId: null, details };
}
