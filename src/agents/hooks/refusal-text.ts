/**
 * Writes the text that an agent gets when it may not write: the holder of the file, the next step, and the contention
 * report as one line of JSON, for the program that hands out the work.
 */

import { HoldfastError } from "../../base/errors.js";
import type { Contention } from "../../lock/contention.js";

export function refusalText(error: unknown): string {
  const lines = error instanceof HoldfastError ? (contentionLines(error) ?? plainLines(error)) : bugLines(error);
  return `${lines.join("\n")}\n`;
}

function contentionLines({ details }: HoldfastError): string[] | null {
  const contention = details.contention as Contention | undefined;
  if (contention?.type !== "LOCK_CONTENTION") return null;
  const [first] = contention.holders;
  const who =
    first === undefined
      ? "others stand in line for it"
      : `${first.owner} holds ${first.resource === contention.resource ? "it" : first.resource}, ${contention.lease_remaining_s} s left unless it goes on working`;
  return [
    `holdfast: ${contention.resource} is not free: ${who}.`,
    "Nothing was written. Do not write the file another way: work on something else, or wait for it with",
    `  holdfast lock wait ${contention.resource} --wait 2m`,
    "then read the file again before you change it. If you cannot go on, end with this report to whoever gave you the work:",
    `LOCK_CONTENTION ${JSON.stringify(contention)}`,
  ];
}

function plainLines({ code, message, next }: HoldfastError): string[] {
  return [`holdfast: ${message}. Nothing was written.`, `next (${code}): ${next.join(" ")}`];
}

function bugLines(error: unknown): string[] {
  const message = error instanceof Error ? error.message : String(error);
  return [`holdfast: the check failed (${message}), so nothing was written.`, "next: holdfast doctor hooks"];
}
