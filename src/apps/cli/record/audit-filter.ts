/** Converts the flags of `audit list` and `audit tail` to a filter. */

import { invalidArgument } from "../../../base/errors.js";
import { given } from "../../../base/given.js";
import { AUDIT_EVENTS, type AuditEvent, type AuditFilter } from "../../../lock/audit.js";

export type FilterFlags = Readonly<
  Record<"prefix" | "owner" | "event" | "since" | "until" | "text", string | undefined>
>;

export function filterOf({ prefix: resource, owner, event, since, until, text }: FilterFlags): AuditFilter {
  if (event !== undefined && !AUDIT_EVENTS.includes(event as AuditEvent))
    throw invalidArgument("event", `${event} is none of ${AUDIT_EVENTS.join(", ")}`);
  return given({
    resource,
    owner,
    event: event as AuditEvent | undefined,
    since: since === undefined ? undefined : new Date(since),
    until: until === undefined ? undefined : new Date(until),
    text,
  });
}
