/**
 * Adds to a refusal that the caller itself holds the lock: a second request under the same owner would wait only for
 * the caller's own grant, so the refusal says so.
 */

import { HoldfastError } from "../../../base/errors.js";
import type { TokenFiles } from "../../../client/workspace/token-files.js";
import type { Contention } from "../../../lock/contention.js";
import { ISSUE } from "../../../lock/reserved-kinds.js";

/** The same refusal, with the key in `details.yours` when the one grant in the way is of this owner and its token is kept here. */
export function notingOwn(error: unknown, owner: string, files: TokenFiles): unknown {
  if (!(error instanceof HoldfastError)) return error;
  const [first, second] = (error.details.contention as Contention | undefined)?.holders ?? [];
  if (first === undefined || second !== undefined || first.owner !== owner) return error;
  if (files.find(first.resource).length === 0) return error;
  const { code, message, details, next } = error;
  return HoldfastError.again({ code, message, cause: error, details: { ...details, yours: first.resource }, next });
}

/** Another process of the same name may have taken it, so waiting stays among the steps. */
export function ownSteps(yours: string, waiting: readonly string[]): readonly string[] {
  const issue = yours.startsWith(ISSUE) ? yours.slice(ISSUE.length) : null;
  return [
    "It was taken under your own name. If you did, it is yours already:",
    `holdfast lock renew ${yours}`,
    issue === null ? `holdfast lock release ${yours}` : `holdfast issue release ${issue}`,
    "If not, wait for it:",
    ...waiting,
  ];
}
