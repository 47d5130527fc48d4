/**
 * Defines `state.json`: the last fencing token that was minted, and the step under way. It is replaced as a whole,
 * under the guard.
 */
import { readFileSync } from "node:fs";
import { isHoldfastError } from "../../base/errors.js";
import { accessError } from "../../client/deliverable/access-error.js";
import type { Places } from "../../client/deliverable/paths.js";
import { assertKnownVersion, SCHEMA_VERSION } from "../../client/deliverable/record.js";
import { replaceFile } from "../../files/durable-file.js";
import type { Appendix } from "./log.js";

/** A change of `_LOCK.json` that is about to be made, and what the log will say of it once it is made. */
export interface Step {
  /** SHA-256 of `_LOCK.json` once the step is made; null: there is none. */
  readonly after: string | null;
  readonly log: Appendix;
}

export interface State {
  readonly fence: number;
  readonly step: Step | null;
}

/** Null when there is none, or none that makes sense: then the numbers go on from the clock and the log. */
export function readState({ state }: Places): State | null {
  let text: string;
  try {
    text = readFileSync(state, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw accessError(error, "read", state);
  }
  try {
    const read = JSON.parse(text) as { schema_version?: unknown } & Partial<State>;
    assertKnownVersion(read.schema_version, state);
    return Number.isSafeInteger(read.fence) ? { fence: Number(read.fence), step: read.step ?? null } : null;
  } catch (error) {
    if (isHoldfastError(error)) throw error;
    return null;
  }
}

export function writeState({ state }: Places, { fence, step }: State, durable: boolean): void {
  const content = { schema_version: SCHEMA_VERSION, fence, ...(step === null ? {} : { step }) };
  try {
    replaceFile(state, Buffer.from(`${JSON.stringify(content)}\n`), durable);
  } catch (error) {
    throw accessError(error, "write", state);
  }
}
