/** Reads the payload and the locks of a job as they are typed. */

import { invalidArgument } from "../../../base/errors.js";
import type { JobLock } from "../../../jobs.js";
import { MODES } from "../../../lock/mode.js";
import { nearest } from "../input/nearest.js";

/**
 * `KEY:MODE`; a key has colons too, so what stands behind the last one counts only when it is a mode. A mistyped one behind
 * `kind:id` must not become part of the key: the job would hold something else than what it works on.
 */
export function lockOf(text: string): JobLock {
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

export function payloadOf(text: string | undefined): unknown {
  if (text === undefined) return null;
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw invalidArgument("payload", `is no JSON: ${(cause as Error).message}`);
  }
}
