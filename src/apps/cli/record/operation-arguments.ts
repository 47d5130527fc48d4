/** Parses the arguments that describe an operation: `project=alpha map=m1`. */

import { invalidArgument } from "../../../base/errors.js";
import { given } from "../../../base/given.js";
import { Policies } from "../../../features/policy/perform.js";
import type { BaseContext } from "../command.js";

export function policiesOf(context: BaseContext): Policies {
  const { policy, deployment } = context.settings().config;
  return new Policies(given({ operations: policy, deployment }));
}

/** `E_INVALID_ARGUMENT` for a word that is no id. */
export function idsOf(words: readonly string[]): Record<string, string> {
  const ids: Record<string, string> = {};
  for (const word of words) {
    const at = word.indexOf("=");
    const kind = word.slice(0, at);
    if (at < 1 || Object.hasOwn(ids, kind)) throw invalidArgument("ID", `${word}: write each once, as project=alpha`);
    ids[kind] = word.slice(at + 1);
  }
  return ids;
}
