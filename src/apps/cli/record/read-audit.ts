/** Lists the audit trail, follows it, and verifies its hash chains. */
import { HoldfastError, invalidArgument } from "../../../base/errors.js";
import { given } from "../../../base/given.js";
import type { ContextWith, Outcome } from "../command.js";
import { type FilterFlags, filterOf } from "./audit-filter.js";
import { auditLine, auditTable } from "./audit-text.js";

const LIST_LIMIT = 1_000;
const TAIL_LIMIT = 20;

interface ListFlags extends FilterFlags {
  readonly limit: number | undefined;
  readonly after: number | undefined;
  readonly lines: boolean;
}

export async function listAudit(context: ContextWith<ListFlags>): Promise<Outcome> {
  const { flags, screen } = context;
  const filter = filterOf(flags);
  const { limit = LIST_LIMIT, after: skip = 0 } = flags;
  if (skip < 0) throw invalidArgument("after", "how many to leave out, data.next of an earlier page");
  const holdfast = await context.openForReading();
  const found = (await holdfast?.audit.list({ ...filter, limit: limit + skip })) ?? [];
  const entries = found.slice(skip);
  const next = entries.length < limit ? null : skip + limit;
  if (flags.lines) {
    for (const entry of entries) screen.write(`${JSON.stringify(entry)}\n`);
    return {};
  }
  return {
    data: { entries, next },
    text: (screen) => auditTable(entries, screen),
    notes:
      entries.length === 0 ? ["nothing is on record"] : next === null ? [] : [`more: the same with --after ${next}`],
  };
}

interface TailFlags extends FilterFlags {
  readonly limit: number | undefined;
  readonly follow: boolean;
}

/** Shows the end of the record, and with `--follow` what comes. */
export async function tailAudit(context: ContextWith<TailFlags>): Promise<Outcome> {
  const { flags, screen } = context;
  const filter = filterOf(flags);
  const { limit = TAIL_LIMIT, follow: follows } = flags;
  const found = await context.openForReading();
  const holdfast = follows ? (found ?? (await context.openHoldfast())) : found;
  if (!follows || holdfast === null) {
    const entries = (await holdfast?.audit.recent({ ...filter, limit })) ?? [];
    return { data: { entries, next: null }, text: (screen) => auditTable(entries, screen) };
  }
  const { signal } = context;
  // Listening starts before the last entries are read, and what both have is told once.
  const coming = holdfast.audit.follow({ ...filter, signal });
  const recent = limit === 0 ? [] : await holdfast.audit.recent({ ...filter, limit });
  const told = new Set(recent.map((entry) => entry.hash));
  for (const entry of recent) screen.stream(entry, () => auditLine(entry));
  for await (const entry of coming) if (!told.has(entry.hash)) screen.stream(entry, () => auditLine(entry));
  return {};
}

/** A bad chain is a failure of its own, with the first bad entry of each. */
export async function verifyAudit(context: ContextWith<{ readonly prefix: string | undefined }>): Promise<Outcome> {
  const { prefix: resource } = context.flags;
  const holdfast = await context.openForReading();
  const verdict = (await holdfast?.audit.verify(given({ resource }))) ?? {
    ok: true,
    chains: 0,
    entries: 0,
    bad: [],
  };
  const [first] = verdict.bad;
  if (first !== undefined)
    throw new HoldfastError(
      "E_STORE_CORRUPT",
      `the record is not as it was written: ${verdict.bad.map((bad) => `${bad.tree} at entry ${bad.seq}: ${bad.why}`).join("; ")}`,
      { details: { ...verdict }, next: [`holdfast audit list --prefix ${first.tree}`] },
    );
  const { chains, entries } = verdict;
  return { data: verdict, text: () => `${entries} entries in ${chains} chains, all as they were written` };
}
