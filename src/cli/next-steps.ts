/** What to type next. The library speaks of calls; a person at a prompt needs a command. */
import type { HoldfastError } from "../support/errors.js";

export function nextSteps(error: HoldfastError, _command: string, _words: readonly string[]): readonly string[] {
  return error.next;
}
