/** Formats a refusal for people: the holder, its process, since when it holds, and for how much longer. */
import type { Contention } from "../../../lock/contention.js";
import { wrap } from "../output/text.js";
import { clockTime, inWords, secondsSince, span } from "../output/times.js";
import { where } from "./grants-text.js";

const SHOWN = 4;
/** Where what stands behind the words begins. */
const VALUES_AT = 11;

/** The lines below the message, or none when the error is not about somebody in the way. */
export function contentionLines(details: Readonly<Record<string, unknown>>, width: number): readonly string[] {
  const contention = details.contention as Contention | undefined;
  if (contention?.type !== "LOCK_CONTENTION") return [];
  const lines: string[] = [];
  for (const holder of contention.holders.slice(0, SHOWN)) {
    lines.push(
      `  held by  ${holder.owner} (${holder.mode}${holder.resource === contention.resource ? "" : ` on ${holder.resource}`})`,
    );
    lines.push(`  on       ${where(holder.holder_id).long}`);
    lines.push(`  since    ${clockTime(holder.since)}, ${span(secondsSince(holder.since))} ago`);
    lines.push(`  lease    ${leaseText(holder.lease_remaining_s)}`);
  }
  const more = contention.holders.length - SHOWN;
  if (more > 0) lines.push(`  and      ${more} more`);
  if (contention.queue_length > 0) lines.push(`  in line  ${contention.queue_length}`);
  return lines.map((line) => wrap(line, width, VALUES_AT));
}

function leaseText(seconds: number): string {
  return seconds > 0 ? `${span(seconds)} left, unless it is renewed` : "over, but it may not be taken yet";
}

/** One line for the message: the details follow below it. */
export function contentionHeadline(code: string, details: Readonly<Record<string, unknown>>): string | null {
  const contention = details.contention as Contention | undefined;
  if (contention?.type !== "LOCK_CONTENTION" || contention.holders.length === 0) return null;
  // What is in the way is an approval, or a claim on an issue, and the message says so.
  if (details.operation !== undefined || details.issue !== undefined) return null;
  if (code === "E_LOCK_CONFLICT") return `${contention.resource} is not free`;
  const waitedMs = typeof details.waited_ms === "number" ? ` within ${inWords(details.waited_ms)}` : "";
  return code === "E_LOCK_TIMEOUT" ? `${contention.resource} was not free${waitedMs}` : null;
}
