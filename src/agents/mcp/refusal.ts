/** Formats a refusal so that an agent can act on it: the code, the holder in the way, and the tool to call next. */

import { type ErrorCode, HoldfastError } from "../../base/errors.js";
import type { Contention } from "../../lock/contention.js";
import { quoted, span } from "./quoting.js";

export interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
  readonly next: readonly string[];
  readonly details: Readonly<Record<string, unknown>>;
}

const SHOWN = 4;
/** Not an error: somebody else was first. */
const CONTENTION: ReadonlySet<string> = new Set<ErrorCode>(["E_LOCK_CONFLICT", "E_LOCK_TIMEOUT"]);

export function isContention({ code }: Refusal): boolean {
  return CONTENTION.has(code);
}

/** `canWait`: the tool that was called takes `wait_s`. */
export function refusalOf(error: unknown, canWait: boolean): Refusal {
  if (error instanceof HoldfastError) {
    const { code, message, retryable, details } = error;
    return { code, message, retryable, next: nextSteps(error, canWait), details };
  }
  return {
    code: "E_INTERNAL",
    message: error instanceof Error ? error.message : String(error),
    retryable: false,
    next: ["This is a bug in holdfast: tell the person you work for."],
    details: {},
  };
}

export function refusalText(refusal: Refusal): string {
  const { code, message, next } = refusal;
  const contention = contentionIn(refusal);
  const lines = [contention === null ? `Refused (${code}): ${quoted(message)}` : contentionHead(code, contention)];
  for (const holder of contention?.holders.slice(0, SHOWN) ?? [])
    lines.push(
      `- ${holder.resource}: ${holder.mode} by ${quoted(holder.owner)}, ${span(holder.lease_remaining_s)} left unless renewed`,
    );
  return [...lines, ...next.map((step) => `Next: ${step}`)].join("\n");
}

function contentionHead(code: string, { resource, queue_length }: Contention): string {
  const line = queue_length === 0 ? "" : `, ${queue_length} in line`;
  return `Not granted (${code}, LOCK_CONTENTION): ${resource} is taken${line}. You hold nothing new; do not write it.`;
}

function nextSteps(error: HoldfastError, canWait: boolean): readonly string[] {
  const { code, next } = error;
  const contention = contentionIn(error);
  if (contention !== null) return afterContention(contention, canWait);
  switch (code) {
    case "E_LOCK_EXPIRED":
    case "E_LOCK_NOT_HELD":
    case "E_FENCING_MISMATCH":
      return next.some((step) => step.includes("_"))
        ? next
        : ["Stop writing. Take it again with lock_acquire, then read again."];
    case "E_LOCK_ORDER":
      return ["Give back with lock_release what you hold, then ask for all keys in one lock_acquire."];
    default:
      return next;
  }
}

function afterContention({ retry_after_ms }: Contention, canWait: boolean): readonly string[] {
  const seconds = Math.ceil(retry_after_ms / 1_000);
  return [
    canWait ? "Call it again with wait_s 50 to stand in line, or do other work first." : "Do other work first.",
    `If it stays taken, report LOCK_CONTENTION with this holder to whoever coordinates you (retry after ${seconds} s).`,
  ];
}

function contentionIn({ code, details }: Pick<Refusal, "code" | "details">): Contention | null {
  if (!CONTENTION.has(code)) return null;
  const contention = details.contention as Contention | undefined;
  return contention?.type === "LOCK_CONTENTION" ? contention : null;
}
