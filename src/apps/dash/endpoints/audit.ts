/** The endpoint `audit`: the entries of the audit trail, newest first. */

import { invalidArgument } from "../../../base/errors.js";
import { given } from "../../../base/given.js";
import { AUDIT_EVENTS, type AuditFilter } from "../../../lock/audit.js";
import type { Query } from "../query.js";
import type { Sources } from "../sources.js";
import type { AuditView } from "../views.js";

const USUALLY = 200;
const MOST = 10_000;

export async function audit({ trail }: Sources, query: Query): Promise<Omit<AuditView, "now">> {
  const limit = query.integer("limit", USUALLY, 1, MOST);
  const { entries, searched } = await trail.newest(filterOf(query), limit + 1);
  return { entries: entries.slice(0, limit), has_more: entries.length > limit, searched, events: AUDIT_EVENTS };
}

function filterOf(query: Query): AuditFilter {
  const [text, resource, owner, since] = ["text", "resource", "owner", "since"].map((name) => query.text(name));
  const event = query.oneOf("event", AUDIT_EVENTS);
  return {
    ...given({ text, resource, owner, event }),
    ...(since === undefined ? {} : { since: timeOf(since) }),
  };
}

function timeOf(text: string): Date {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) throw invalidArgument("since", "a time such as 2026-01-31T12:00:00Z");
  return time;
}
