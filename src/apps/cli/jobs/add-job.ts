/** Adds a job: parses its payload and its locks from the command line. */

import { invalidArgument } from "../../../base/errors.js";
import { given } from "../../../base/given.js";
import { nearest } from "../../../base/nearest.js";
import type { JobLock } from "../../../jobs.js";
import { MODES } from "../../../lock/mode.js";
import type { BaseContext, Outcome } from "../command.js";
import type { AddFlags } from "../commands/jobs.js";
import { jobOutcome, openTheJobs } from "./jobs.js";

interface AddContext extends BaseContext {
  readonly args: { readonly KIND: string };
  readonly flags: BaseContext["flags"] & AddFlags;
  readonly rest: readonly string[];
}

export async function addJob(context: AddContext): Promise<Outcome> {
  const { args, flags, rest } = context;
  const { project, map, class: jobClass, priority, at, delay, cron, unique, attempts, timeout, lock, needs } = flags;
  const payload = payloadOf(flags.payload);
  const options = {
    project,
    ...given({
      map,
      class: jobClass,
      priority,
      delay,
      cron,
      timeZone: flags["time-zone"],
      unique,
      attempts,
      timeout,
      lockWait: flags["lock-wait"],
      at: at === undefined ? undefined : new Date(at),
      locks: lock.length === 0 ? undefined : lock.map(lockOf),
      needs: needs.length === 0 ? undefined : needs,
      command: rest.length === 0 ? undefined : rest,
    }),
  };
  const jobs = await openTheJobs(context);
  const { job, isNew } = await jobs.add(args.KIND, payload, options);
  return jobOutcome(isNew ? "added" : `not added, this one has the name ${unique}:`, job);
}

/**
 * `KEY:MODE`; a key has colons too, so what stands behind the last one counts only when it is a mode. A mistyped one behind
 * `kind:id` must not become part of the key: the job would hold something else than what it works on.
 */
function lockOf(text: string): JobLock {
  const at = text.lastIndexOf(":");
  const last = text.slice(at + 1);
  const mode = MODES.find((each) => each === last);
  const meant = mode === undefined && /:[^/]*:[^/]*$/.test(text) ? nearest(last, MODES) : null;
  if (meant !== null)
    throw invalidArgument(
      "lock",
      `${JSON.stringify(last)} is no mode; did you mean ${meant}? If it belongs to the key, say ${text}:write`,
    );
  return at < 1 || mode === undefined ? { resource: text, mode: "write" } : { resource: text.slice(0, at), mode };
}

function payloadOf(text: string | undefined): unknown {
  if (text === undefined) return null;
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw invalidArgument("payload", `is no JSON: ${(cause as Error).message}`);
  }
}
