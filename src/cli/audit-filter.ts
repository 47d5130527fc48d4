/** The flags of `audit list` and `audit tail` as a filter. */
import { AUDIT_EVENTS, type AuditEvent, type AuditFilter } from "../lock/audit.js";
import { invalidArgument } from "../support/errors.js";
import type { Context } from "./context.js";

export function filterOf({ flags }: Context): AuditFilter {
  const resource = flags.text("prefix");
  const owner = flags.text("owner");
  const event = flags.text("event");
  const since = flags.text("since");
  const until = flags.text("until");
  const text = flags.text("text");
  if (event !== undefined && !AUDIT_EVENTS.includes(event as AuditEvent))
    throw invalidArgument("event", `${event} is none of ${AUDIT_EVENTS.join(", ")}`);
  return {
    ...(resource === undefined ? {} : { resource }),
    ...(owner === undefined ? {} : { owner }),
    ...(event === undefined ? {} : { event: event as AuditEvent }),
    ...(since === undefined ? {} : { since: new Date(since) }),
    ...(until === undefined ? {} : { until: new Date(until) }),
    ...(text === undefined ? {} : { text }),
  };
}
