/** Runs the actions of the page, where they were allowed at start. The library decides whether this owner may do each. */
import { HoldfastError, invalidArgument } from "../../base/errors.js";
import { isObject } from "../../base/is-object.js";
import type { Sources } from "./sources.js";

type Given = Readonly<Record<string, unknown>>;

/** Each says what it did, in a sentence. */
export const ACTIONS: Readonly<Record<string, (sources: Sources, given: Given) => Promise<string>>> = {
  async recover({ holdfast }, given) {
    const key = textIn(given, "key");
    const ended = await holdfast.recover(key);
    return ended.length === 0
      ? `Nothing on ${key} can be recovered: its holders are alive.`
      : `Recovered ${key} from ${ended.map(({ owner }) => owner).join(", ")}.`;
  },
  async break({ holdfast }, given) {
    const key = textIn(given, "key");
    const ended = await holdfast.break(key, { reason: textIn(given, "reason") });
    return `Broke ${key}, which ${ended.map(({ owner }) => owner).join(", ")} held.`;
  },
  async "job-cancel"({ jobs }, given) {
    const job = await required(jobs).cancel(numberIn(given, "id"));
    if (job.state === "running") return `Job ${job.id} was told to stop.`;
    return job.state === "cancelled" ? `Cancelled job ${job.id}.` : `Job ${job.id} is over already: ${job.state}.`;
  },
  async "job-retry"({ jobs }, given) {
    const job = await required(jobs).retry(numberIn(given, "id"));
    return `Job ${job.id} will be tried again.`;
  },
};

/** `E_INVALID_ARGUMENT` */
export function parseGiven(body: string): Given {
  try {
    const given: unknown = JSON.parse(body);
    if (isObject(given)) return given as Given;
  } catch {
    // The same as anything else that is no object.
  }
  throw invalidArgument("body", "a JSON object");
}

function required<T>(jobs: T | null): T {
  if (jobs === null) throw new HoldfastError("E_CONFIG", "this store has no jobs", { reason: "unsupported_store" });
  return jobs;
}

function textIn(given: Given, name: string): string {
  const value = given[name];
  if (typeof value !== "string" || value.trim() === "") throw invalidArgument(name, "some text");
  return value;
}

function numberIn(given: Given, name: string): number {
  const value = given[name];
  if (!Number.isSafeInteger(value)) throw invalidArgument(name, "a whole number");
  return value as number;
}
