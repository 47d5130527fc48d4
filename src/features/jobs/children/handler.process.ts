/** The process of a handler: run-in-child.ts starts it and sends it orders. */

import { HoldfastError } from "../../../base/errors.js";
import { openIn } from "../../../client/open-holdfast.js";
import { storeAlone } from "../../../client/workspace/find-workspace.js";
import { asJobError, progressAsJson, resultAsJson, ToldError } from "../as-json.js";
import type { ChildHandler, ChildRunTools } from "../define.js";
import type { Order, Report } from "./messages.js";

type Begin = Extract<Order, { kind: "begin" }>;

const ended = new AbortController();
const releases: ((order: Extract<Order, { kind: "released" }>) => void)[] = [];

/** Resolves when it was given to the system: what ends after that has been said. */
function report(what: Report): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined) resolve();
    else process.send(what, undefined, undefined, () => resolve());
  });
}

async function perform(begin: Begin): Promise<Report> {
  try {
    return { kind: "done", result: resultAsJson(await handle(begin)) };
  } catch (error) {
    return { kind: "failed", error: asJobError(error) };
  }
}

async function handle({ job, module, store, storeId, owner, token }: Begin): Promise<unknown> {
  const { handler } = (await import(module)) as { readonly handler?: ChildHandler };
  if (typeof handler !== "function")
    throw new HoldfastError("E_CONFIG", `${module} exports no function handler`, { reason: "invalid_file" });
  const keys = job.locks.map(({ resource }) => resource);
  if (keys.length === 0) return handler(job, { ...TOOLS, lease: null });
  const holdfast = await openIn(storeAlone(store, owner, storeId), { heart: "loop" });
  try {
    return await handler(job, { ...TOOLS, lease: await holdfast.borrow(keys, token) });
  } finally {
    await holdfast.close();
  }
}

const TOOLS: Omit<ChildRunTools, "lease"> = {
  signal: ended.signal,
  progress: (value) => void report({ kind: "progress", value: progressAsJson(value) }),
  onSettle: (statement, values = []) => void report({ kind: "on settle", statement, values }),
  release: () =>
    new Promise((resolve, reject) => {
      releases.push(({ error }) => (error === null ? resolve() : reject(new ToldError(error))));
      void report({ kind: "release" });
    }),
};

process.on("message", (order: Order) => {
  if (order.kind === "abort") ended.abort(new ToldError(order.error));
  else if (order.kind === "released") releases.shift()?.(order);
  else
    void perform(order)
      .then(report)
      .then(() => process.exit(0));
});
// Nobody is left to hear of it.
process.on("disconnect", () => process.exit(1));
