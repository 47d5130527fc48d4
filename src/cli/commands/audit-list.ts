/** `holdfast audit list`. */
import { invalidArgument } from "../../support/errors.js";
import { filterOf } from "../audit-filter.js";
import { auditTable } from "../audit-text.js";
import type { Context, Outcome } from "../context.js";

const DEFAULT_LIMIT = 1_000;

export async function run(context: Context): Promise<Outcome> {
  const { flags, screen } = context;
  const filter = filterOf(context);
  const limit = flags.integer("limit") ?? DEFAULT_LIMIT;
  const skip = flags.integer("after") ?? 0;
  if (skip < 0) throw invalidArgument("after", "how many to leave out, data.next of an earlier page");
  const holdfast = await context.openForReading();
  const found = (await holdfast?.audit.list({ ...filter, limit: limit + skip })) ?? [];
  const entries = found.slice(skip);
  const next = entries.length < limit ? null : skip + limit;
  if (flags.has("lines")) {
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
