/**
 * The endpoint `timeline`: the holders of each key in the last minutes, computed from the audit entries since then and
 * the grants of now.
 */
import { type HeldRecord, toHeld } from "../../../client/reading/lock-status.js";
import type { AuditEntry } from "../../../lock/audit.js";
import type { Query } from "../query.js";
import type { Sources } from "../sources.js";
import type { HoldEnd, HoldSpan, TimelineView } from "../views.js";

const USUALLY_MINUTES = 15;
const MOST_MINUTES = 24 * 60;
const MOST_ROWS = 60;
const MOST_SPANS = 200;
const MOST_READ = 20_000;

export async function timeline({ holdfast, trail }: Sources, query: Query): Promise<Omit<TimelineView, "now">> {
  const minutes = query.integer("minutes", USUALLY_MINUTES, 1, MOST_MINUTES);
  const text = query.text("text")?.toLowerCase();
  const asked = new Date(Date.now() - minutes * 60_000);
  const held = await holdfast.listAs(toHeld, { limit: MOST_READ });
  const { entries, completeSince } = await trail.since(asked);
  const keys = [...spansOf(entries, held, completeSince)]
    .map(([resource, spans]) => ({ resource, spans: spans.sort(byStart) }))
    .filter(({ resource, spans }) => text === undefined || isFound(resource, spans, text))
    .sort((a, b) => b.spans.length - a.spans.length || (a.resource < b.resource ? -1 : 1));
  return {
    since: completeSince,
    rows: keys.slice(0, MOST_ROWS).map(({ resource, spans }) => ({ resource, spans: spans.slice(-MOST_SPANS) })),
    more: Math.max(0, keys.length - MOST_ROWS),
    is_all: completeSince === asked.toISOString(),
  };
}

function isFound(resource: string, spans: readonly HoldSpan[], text: string): boolean {
  return resource.toLowerCase().includes(text) || spans.some(({ owner }) => owner.toLowerCase().includes(text));
}

function byStart(a: HoldSpan, b: HoldSpan): number {
  return a.from < b.from ? -1 : a.from > b.from ? 1 : 0;
}

/**
 * By key, those that lasted until `since` or longer. A hold of which neither beginning nor grant is known began before the
 * first entry: what happened to it tells of it.
 */
export function spansOf(
  entries: readonly AuditEntry[],
  held: readonly HeldRecord[],
  since: string,
): Map<string, HoldSpan[]> {
  const spans = new Map<string, Span>();
  for (const grant of held) spans.set(grant.lock_id, { resource: grant.resource, ...lasting(grant) });
  const isHeld = new Set(spans.keys());
  for (const entry of entries) {
    const id = entry.lock_id;
    if (id === null) continue;
    const isBegin = BEGINS.has(entry.event);
    const isChange = CHANGES.has(entry.event);
    const ended = ENDS[entry.event];
    if (!isBegin && !isChange && ended === undefined) continue;
    const before = isBegin ? endOfResumed(spans, entry) : undefined;
    const known = spans.get(id) ?? (isBegin ? begun(entry, id, before) : begunBefore(entry, id, since));
    if (ended !== undefined) spans.set(id, { ...known, to: entry.at, ended });
    else if (isChange && !isHeld.has(id)) spans.set(id, { ...known, ...modeIn(entry, known) });
    else spans.set(id, known);
  }
  const byKey = new Map<string, HoldSpan[]>();
  for (const { resource, ...span } of spans.values()) {
    if (span.to !== null && span.to < since) continue;
    const others = byKey.get(resource);
    if (others === undefined) byKey.set(resource, [span]);
    else others.push(span);
  }
  return byKey;
}

type Span = HoldSpan & { readonly resource: string };

const BEGINS: ReadonlySet<string> = new Set(["granted", "resumed"]);
const CHANGES: ReadonlySet<string> = new Set(["upgraded", "downgraded"]);
const ENDS: Readonly<Record<string, Exclude<HoldEnd, null>>> = {
  released: "released",
  recovered: "recovered",
  stolen: "stolen",
  broken: "broken",
};

/** The lapsed hold that this one goes on with. */
function endOfResumed(spans: Map<string, Span>, { at, details }: AuditEntry): Span | undefined {
  const id = details.old_lock_id;
  const span = typeof id === "string" ? spans.get(id) : undefined;
  if (span !== undefined) spans.set(span.lock_id, { ...span, to: at, ended: "lapsed" });
  return span;
}

function lasting(grant: HeldRecord): HoldSpan {
  const { lock_id, owner, mode, fencing_token, created_at: from, lease_expires_at: expires } = grant;
  const isOver = grant.state === "expired";
  return { lock_id, owner, mode, fencing_token, from, to: isOver ? expires : null, ended: isOver ? "lapsed" : null };
}

function begun(entry: AuditEntry, lock_id: string, before: Span | undefined): Span {
  const { resource, owner, at: from } = entry;
  return { resource, lock_id, owner, ...modeIn(entry, before), from, to: null, ended: null };
}

/** Whoever ended it is not always who held it. */
function begunBefore({ resource, owner, fencing_token, details }: AuditEntry, lock_id: string, since: string): Span {
  const before = (details.previous ?? {}) as { owner?: string; mode?: string; acquired_at?: string };
  const { owner: holder = owner, mode = "write", acquired_at: from = since } = before;
  return { resource, lock_id, owner: holder, mode, fencing_token, from, to: null, ended: null };
}

function modeIn({ fencing_token, details }: AuditEntry, before?: HoldSpan): Pick<HoldSpan, "mode" | "fencing_token"> {
  const mode = typeof details.mode === "string" ? details.mode : (before?.mode ?? "write");
  return { mode, fencing_token: fencing_token ?? before?.fencing_token ?? null };
}
