/** Encodes the progress and the result of a run as JSON of a bounded size, and its errors as a code and a message. */
import { HoldfastError, invalidArgument, isHoldfastError } from "../../base/errors.js";
import type { JobError } from "./scripts/state/slots.js";

const PROGRESS_BYTES = 16 * 1024;
const RESULT_BYTES = 256 * 1024;
/** It is kept with the job and in the audit trail. */
const MESSAGE_CHARACTERS = 16 * 1024;

/** `E_INVALID_ARGUMENT`. */
export function progressAsJson(value: unknown): string {
  return asJson(value, "progress", PROGRESS_BYTES);
}

/** `E_INVALID_ARGUMENT`. */
export function resultAsJson(value: unknown): string {
  return asJson(value, "result", RESULT_BYTES);
}

/** `E_INVALID_ARGUMENT`. */
export function asJson(value: unknown, field: string, most: number): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value ?? null);
  } catch (cause) {
    throw invalidArgument(field, `cannot be written as JSON (${String(cause)})`);
  }
  if (text === undefined) throw invalidArgument(field, "is no JSON");
  if (Buffer.byteLength(text) > most) throw invalidArgument(field, `at most ${most / 1024} KiB as JSON`);
  return text;
}

/** An error that was told by another process. */
export class ToldError extends Error {
  readonly told: JobError;

  constructor(told: JobError) {
    super(told.message);
    this.told = told;
  }
}

export function asJobError(error: unknown): JobError {
  if (error instanceof ToldError) return error.told;
  const message = (error instanceof Error ? error.message : String(error)).slice(0, MESSAGE_CHARACTERS);
  return { code: isHoldfastError(error) ? error.code : "failed", message };
}

export function timedOut(ms: number): HoldfastError {
  return new HoldfastError("E_LOCK_TIMEOUT", `it ran longer than its limit of ${ms} ms`);
}
