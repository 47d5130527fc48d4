/**
 * Records the refusals of the policy in the audit trail, so that the people responsible for the agents can see what
 * these tried.
 */

import { type ErrorCode, HoldfastError } from "../../base/errors.js";
import type { Holdfast } from "../../client/holdfast.js";
import { kernelOf } from "../../client/kernel.js";
import { parseKey } from "../../lock/key.js";
import { POLICY_TREE } from "../../lock/reserved-kinds.js";

/** Its own place in the audit trail: an operation that nobody knows belongs to no other. */
const POLICY = parseKey(POLICY_TREE);
const REFUSALS: ReadonlySet<string> = new Set<ErrorCode>(["E_POLICY_UNKNOWN", "E_POLICY_AMBIGUOUS", "E_FORBIDDEN"]);
const LONGEST_TEXT = 200;
const MOST_IDS = 16;

/** Passes what `step` gives or throws through. A store that cannot be written keeps nobody from hearing the refusal. */
export async function onRecord<T>(
  holdfast: Holdfast,
  operation: string,
  ids: Readonly<Record<string, string>>,
  step: () => T | Promise<T>,
): Promise<T> {
  try {
    return await step();
  } catch (error) {
    if (error instanceof HoldfastError && REFUSALS.has(error.code)) {
      const reasons = { code: error.code, operation: inShort(operation), ids: fewOf(ids) };
      await kernelOf(holdfast)
        .refuse(POLICY, reasons)
        .catch(() => undefined);
    }
    throw error;
  }
}

function fewOf(ids: Readonly<Record<string, unknown>>): Record<string, string> {
  const few = Object.entries(ids ?? {}).slice(0, MOST_IDS);
  return Object.fromEntries(few.map(([kind, id]) => [inShort(kind), inShort(id)]));
}

function inShort(text: unknown): string {
  return String(text).slice(0, LONGEST_TEXT);
}
