/**
 * Defines a kind of jobs, as this program runs it. `Jobs.define` makes one; a worker records its definition, and calls its
 * function of the payload, if it has one, outside of the store's steps.
 */
import { createHash, randomUUID } from "node:crypto";
import { invalidArgument, isHoldfastError } from "../../base/errors.js";
import { asJobError } from "./as-json.js";
import { type JobHandler, type KindOptions, parseKindOptions } from "./define.js";
import type { JobLock } from "./model.js";
import type { AskedJob, GivenLocks } from "./scripts/kind-rules.js";
import type { Definition } from "./scripts/state/definitions.js";

export interface Kind {
  readonly options: KindOptions;
  readonly definition: Definition;
  /** Checks what its function gives. */
  readonly checked: (locks: readonly JobLock[]) => readonly JobLock[];
  /** Here, or in a process of its own that loads this module. */
  readonly handler: JobHandler | URL;
}

/** `E_INVALID_ARGUMENT` naming the field. */
export function newKind(options: KindOptions, checked: Kind["checked"], handler: Kind["handler"]): Kind {
  const { locks } = options;
  const rules = parseKindOptions(options);
  if (locks === undefined) return { options, checked, handler, definition: rules };
  const recorded = typeof locks === "function" ? printOf(locks) : checked(locks);
  return { options, checked, handler, definition: { ...rules, locks: recorded } };
}

/** A function whose text is hidden is like no other. */
function printOf(locks: (payload: never) => unknown): string {
  const text = Function.prototype.toString.call(locks);
  // mutant: hidden-function: text.includes("[native code]") ? randomUUID() : text; → text;
  const known = text.includes("[native code]") ? randomUUID() : text;
  return createHash("sha256").update(known).digest("base64url").slice(0, 22);
}

/** The locks that the function of this kind gives for a job; undefined when it has none. */
export function givenLocks({ job, kind: name, payload }: AskedJob, kind: Kind | undefined): GivenLocks | undefined {
  const print = kind?.definition.locks;
  if (kind === undefined || typeof print !== "string" || typeof kind.options.locks !== "function") return undefined;
  try {
    return { job, print, outcome: { locks: kind.checked(kind.options.locks(JSON.parse(payload))) } };
  } catch (error) {
    const { message } = asJobError(error);
    const why = `the function that gives the locks of ${name} ${isHoldfastError(error) ? "gave" : "threw"}: ${message}`;
    return { job, print, outcome: { error: asJobError(invalidArgument("locks", why)) } };
  }
}

/** Stands in where no kind is defined: its jobs fail, they are never taken for done. */
export const NO_SUCH_KIND: Pick<Kind, "handler"> = {
  handler: ({ kind }) => {
    throw new Error(`nobody here runs jobs of the kind ${kind}`);
  },
};
