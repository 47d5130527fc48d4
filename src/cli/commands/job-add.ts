/** `holdfast job add KIND`. */
import type { EnqueueOptions, JobClass, JobLock } from "../../jobs/index.js";
import { MODES } from "../../lock/mode.js";
import { invalidArgument } from "../../support/errors.js";
import type { Context, Outcome } from "../context.js";
import { jobOutcome, openTheJobs } from "../jobs.js";
import { nearest } from "../nearest.js";

export async function run(context: Context): Promise<Outcome> {
  const [payload, options] = [payloadOf(context), optionsOf(context)];
  const jobs = await openTheJobs(context);
  const { job, isNew } = await jobs.add(context.arg("KIND"), payload, options);
  return jobOutcome(isNew ? "added" : `not added, this one has the name ${options.unique}:`, job);
}

function optionsOf({ flags, rest }: Context): EnqueueOptions {
  const text = <Name extends keyof EnqueueOptions>(name: Name, flag: string = name): Partial<EnqueueOptions> => {
    const value = flags.text(flag) ?? flags.integer(flag);
    return value === undefined ? {} : { [name]: value };
  };
  const [at, locks, needs] = [flags.text("at"), flags.list("lock"), flags.list("needs")];
  return {
    project: flags.text("project") ?? "",
    ...text("map"),
    ...(flags.has("class") ? { class: flags.text("class") as JobClass } : {}),
    ...text("priority"),
    ...text("delay"),
    ...text("cron"),
    ...text("timeZone", "time-zone"),
    ...text("unique"),
    ...text("attempts"),
    ...text("timeout"),
    ...text("lockWait", "lock-wait"),
    ...(at === undefined ? {} : { at: new Date(at) }),
    ...(locks.length === 0 ? {} : { locks: locks.map(lockOf) }),
    ...(needs.length === 0 ? {} : { needs }),
    ...(rest.length === 0 ? {} : { command: rest }),
  };
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

function payloadOf({ flags }: Context): unknown {
  const text = flags.text("payload");
  if (text === undefined) return null;
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw invalidArgument("payload", `is no JSON: ${(cause as Error).message}`);
  }
}
