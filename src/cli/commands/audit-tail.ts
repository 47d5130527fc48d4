/** `holdfast audit tail`: the end of the record, and with `--follow` what comes. */
import { filterOf } from "../audit-filter.js";
import { auditLine, auditTable } from "../audit-text.js";
import type { Context, Outcome } from "../context.js";

const DEFAULT_LIMIT = 20;

export async function run(context: Context): Promise<Outcome> {
  const { flags, screen } = context;
  const filter = filterOf(context);
  const limit = flags.integer("limit") ?? DEFAULT_LIMIT;
  const follows = flags.has("follow");
  const holdfast = follows ? await context.openHoldfast() : await context.openForReading();
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
