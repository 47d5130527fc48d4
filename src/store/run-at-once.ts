/** Runs a caller's function inside a step, and refuses one that would finish later. */
import { type HoldfastError, invalidArgument } from "../base/errors.js";

/** What goes on after the step is not protected by it: a function that promises to finish later is refused. */
export function runAtOnce<A extends readonly unknown[], T>(write: (...args: A) => T | Promise<T>, ...args: A): T {
  if (typeof write !== "function") throw invalidArgument("write", "a function");
  if (write.constructor.name === "AsyncFunction") throw notAtOnce();
  const result = write(...args);
  if (typeof (result as { then?: unknown } | null | undefined)?.then === "function") throw notAtOnce();
  return result as T;
}

function notAtOnce(): HoldfastError {
  return invalidArgument("write", "a synchronous function is needed here, and this one returns a promise");
}
