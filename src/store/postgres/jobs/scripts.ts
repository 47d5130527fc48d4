/**
 * Runs scripts on the server: one transaction, each request a statement of its own.
 *
 *   BEGIN → job_step (the scheduler's row is locked, the clock read) → the script's requests → job_tell → COMMIT
 *
 * BEGIN, job_step and a short way that the script requests first go in one message, so that frequent scripts take two round
 * trips. It cannot be one, because the transaction's id must be known before the COMMIT is sent.
 *
 * Steps of the scheduler come one after the other; the lock verbs inside are the same functions as outside, and keep the
 * guards of their trees until the commit. A script that meets a deadlock or a broken connection before its COMMIT begins
 * anew: the server has rolled it back. A COMMIT whose answer is lost is looked up by the transaction's id: done, undone, or
 * `E_COMMIT_UNCERTAIN`. The server cuts off a client that stops in the middle after STEP_MS, and nothing of its step stays.
 */
import { randomUUID } from "node:crypto";
import type { Clock } from "../../../platform/clock.js";
import type { Ask, Script, Scripts } from "../../contract.js";
import { type Call, call, callBoth } from "../connection/call.js";
import type { Connection, Session } from "../connection/connection.js";
import { tryAgain } from "../connection/try-again.js";
import { settle } from "../dal/caller-statements.js";
import type { SettleLeft } from "../publish/manifests.js";
import { Answers, lookWith, Refusal } from "./script-answers.js";

const STEP_MS = 5_000;

export function createScripts(connection: Connection, store: string, clock: Clock, settleLeft: SettleLeft): Scripts {
  const opening = (ask: Ask | undefined): Call => {
    const step = { max_ms: STEP_MS, store };
    return ask?.ask === "express" ? callBoth("job_step", step, ask.name, ask.values) : call("job_step", step);
  };
  const inOneStep = async <T>(session: Session, script: Script<T>, durable: boolean): Promise<Done<T>> => {
    const first = script.next();
    const [row] = await session.begin(opening(first.done ? undefined : first.value));
    const [step, told] = Object.values(row ?? {}) as [{ readonly now: number; readonly id: string }, unknown];
    const { now, id } = step;
    const answers = new Answers(session, now, store, clock);
    const begun =
      !first.done && first.value.ask === "express" ? script.next(answers.took(first.value.name, told)) : first;
    const result = await runWith(answers, script, begun);
    const setting = await answers.finish(durable);
    try {
      await session.together(`${setting}COMMIT`);
    } catch (error) {
      // mutant: job-lost-commit: await settle(() => connection.ask<string | null>(() => call("transaction_outcome", { id, store })), error) → if (settle !== undefined) throw error
      await settle(() => connection.ask<string | null>(() => call("transaction_outcome", { id, store })), error);
    }
    return { result, left: answers.left };
  };

  return {
    async run(script, { durable }) {
      const { result, left } = await tryAgain(() =>
        connection
          .transaction((session) => rolledBack(session, () => inOneStep(session, script(), durable)))
          .then(unwrapped),
      );
      for (const { manifests, party } of left) await settleLeft(manifests, party);
      return result;
    },
    listen: (onWake) => connection.wakeUps.listen("jobs", randomUUID(), onWake),
    look: (script) =>
      connection
        .transaction((session) =>
          rolledBack(session, async () => {
            await session.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
            const result = await lookWith(session, script(), store);
            await session.query("COMMIT");
            return result;
          }),
        )
        .then(unwrapped),
  };
}

interface Done<T> {
  readonly result: T;
  readonly left: Answers["left"];
}

type Ended<T> = { readonly result: T } | { readonly error: unknown };

/** A script that fails is rolled back, and the connection stays good for others. */
async function rolledBack<T>({ query }: Session, work: () => Promise<T>): Promise<Ended<T>> {
  try {
    return { result: await work() };
  } catch (error) {
    await query("ROLLBACK").catch(() => Promise.reject(error));
    return { error };
  }
}

function unwrapped<T>(ended: Ended<T>): T {
  if ("error" in ended) throw ended.error;
  return ended.result;
}

async function runWith<T>(answers: Answers, script: Script<T>, begun: IteratorResult<Ask, T>): Promise<T> {
  for (let next = begun; ; ) {
    if (next.done) return next.value;
    let answer: unknown;
    try {
      answer = await answers.to(next.value);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      next = script.throw(error.cause);
      continue;
    }
    next = script.next(answer);
  }
}
