/**
 * Runs a handler in a process of its own: it may keep a core busy, or hang, and the worker keeps sending heartbeats.
 * The module is loaded there, once for each run; its results come back as messages, and the worker settles.
 *
 * The run is not over before the process and its group are. A process that ends without a message has failed. What a
 * crash leaves: when the process dies, a failed run; when the worker dies, the watcher ends the group, and the slot
 * lapses.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { type Guard, watchGroup } from "../../../platform/process/watch-group.js";
import { asJobError, ToldError } from "../as-json.js";
import type { RunTools } from "../define.js";
import type { JobRecord } from "../model.js";
import { jobEnvironment } from "./job-environment.js";
import type { Order, Report } from "./messages.js";

/** How the handler's process reaches the store, and shows that the locks are its own. */
export interface Access {
  readonly store: string;
  readonly storeId: string;
  readonly owner: string;
  readonly token: string;
}

/** The result, as the handler gave it. Rejects with what it threw, or when it ended without a word. */
export function runInChild(
  module: URL,
  job: JobRecord,
  tools: RunTools,
  access: Access,
  guard: Guard,
  env: NodeJS.ProcessEnv,
): Promise<unknown> {
  const { signal } = tools;
  return new Promise((resolve, reject) => {
    const child = guard.started((mark) =>
      fork(fileURLToPath(HANDLER), [], {
        detached: true,
        serialization: "advanced",
        stdio: ["ignore", "inherit", "inherit", "ipc"],
        // mutant: module-in-a-run: jobEnvironment(env, job.id), ... → env, ...jobEnvironment(env, job.id), ...
        env: { ...jobEnvironment(env, job.id), ...mark },
      }),
    );
    let outcome: Report | undefined;
    const order = (what: Order): void => {
      if (child.connected) child.send(what, () => undefined);
    };
    watchGroup(child, signal, guard, () => order({ kind: "abort", error: asJobError(signal.reason) }));

    child.on("message", (report: Report) => {
      if (report.kind === "progress") tools.progress(JSON.parse(report.value));
      else if (report.kind === "on settle") tools.onSettle(statementOf(report));
      else if (report.kind === "release")
        void tools.release().then(
          () => order({ kind: "released", error: null }),
          (error: unknown) => order({ kind: "released", error: asJobError(error) }),
        );
      else outcome ??= report;
    });
    // What it said last may be heard after it has ended.
    Promise.all([once(child, "exit"), once(child, "disconnect")]).then(([[code, killedBy]]) => {
      if (outcome?.kind === "done") resolve(JSON.parse(outcome.result));
      else if (outcome?.kind === "failed") reject(new ToldError(outcome.error));
      else reject(new Error(`the process of job ${job.id} ended with ${killedBy ?? code} and no result`));
    }, reject);
    order({ kind: "begin", job, module: module.href, ...access });
  });
}

function statementOf({
  statement,
  values,
}: Extract<Report, { kind: "on settle" }>): Parameters<RunTools["onSettle"]>[0] {
  return (sql) => (sql.answersAtOnce ? sql.rows(statement, values) : sql.query(statement, values));
}

const HANDLER = new URL("./handler.process.js", import.meta.url);
