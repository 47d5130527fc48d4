/**
 * Retries a function with exponential backoff and full jitter. The number of tries is always bounded: there is no way
 * to ask for more.
 */

import { checkOptions, type OptionNames } from "../base/check-options.js";
import { HoldfastError, invalidArgument } from "../base/errors.js";
import { sleep } from "../base/sleep.js";
import { jittered } from "../platform/jitter.js";
import { parseSignal } from "./options.js";

export interface RetryOptions {
  /** Tries in all. Default 3, or `HOLDFAST_RETRY_MAX_ATTEMPTS`; at most 100. */
  readonly attempts?: number;
  /** Upper bound of the first pause. Default 50 ms, or `HOLDFAST_RETRY_INITIAL_DELAY_MS`. */
  readonly initialDelayMs?: number;
  readonly signal?: AbortSignal;
}

const RETRY: OptionNames<RetryOptions> = { attempts: true, initialDelayMs: true, signal: true };
const FACTOR = 2;
const LONGEST_DELAY_MS = 2_000;
const MOST_ATTEMPTS = 100;

/**
 * Runs `operation` until it succeeds. Only errors marked retryable are tried again; any other is thrown as it is.
 * `E_TOO_MANY_RETRIES` with the count and the last cause when the attempts are used up.
 */
export async function retry<T>(operation: (attempt: number) => Promise<T>, options: RetryOptions = {}): Promise<T> {
  checkOptions(options, RETRY);
  const env = process.env;
  const attempts = bounded(
    "attempts",
    options.attempts ?? fromEnvironment(env, "HOLDFAST_RETRY_MAX_ATTEMPTS", 3),
    MOST_ATTEMPTS,
  );
  const initialMs = bounded(
    "initialDelayMs",
    options.initialDelayMs ?? fromEnvironment(env, "HOLDFAST_RETRY_INITIAL_DELAY_MS", 50),
    LONGEST_DELAY_MS,
  );
  const signal = parseSignal(options.signal);
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await operation(attempt);
    } catch (error) {
      if (!(error instanceof HoldfastError) || !error.retryable) throw error;
      if (attempt >= attempts)
        throw new HoldfastError("E_TOO_MANY_RETRIES", `gave up after ${attempt} tries: ${error.message}`, {
          cause: error,
          details: { ...error.details, attempts: attempt, last_code: error.code },
        });
      await sleep(jittered(0, Math.min(LONGEST_DELAY_MS, initialMs * FACTOR ** (attempt - 1))), signal);
    }
  }
}

function bounded(field: string, value: number, atMost: number): number {
  if (!Number.isInteger(value) || value < 1 || value > atMost)
    throw invalidArgument(field, `a whole number from 1 to ${atMost}`);
  return value;
}

function fromEnvironment(env: NodeJS.ProcessEnv, name: string, fallback: number): number {
  const text = env[name];
  if (text === undefined || text === "") return fallback;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1)
    throw new HoldfastError("E_CONFIG", `${name}=${text} is no whole number above 0`, { reason: "invalid_value" });
  return value;
}
