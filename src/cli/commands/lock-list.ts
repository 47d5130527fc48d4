/** `holdfast lock list`: a page of what is held. */
import type { GrantRecord } from "../../lock/grant.js";
import { invalidArgument } from "../../support/errors.js";
import type { Context, Outcome } from "../context.js";
import { grantTable } from "../grants-text.js";

const DEFAULT_LIMIT = 1_000;

export async function run(context: Context): Promise<Outcome> {
  const { flags } = context;
  const limit = flags.integer("limit") ?? DEFAULT_LIMIT;
  const prefix = flags.text("prefix");
  const after = flags.text("after");
  const holdfast = await context.openForReading();
  const grants =
    (await holdfast?.list({
      limit,
      ...(prefix === undefined ? {} : { prefix }),
      ...(after === undefined ? {} : { after: placeOf(after) }),
    })) ?? [];
  const last = grants.at(-1);
  const next = last === undefined || grants.length < limit ? null : cursorOf(last);
  return {
    data: { grants, next },
    text: (screen) => (grants.length === 0 ? "" : grantTable(grants, screen)),
    notes: grants.length === 0 ? ["nothing is held"] : next === null ? [] : [`more: the same with --after '${next}'`],
  };
}

/** The id, which has a fixed length, and the key. */
function cursorOf({ lock_id, resource }: GrantRecord): string {
  return `${lock_id}.${resource}`;
}

function placeOf(cursor: string): Pick<GrantRecord, "lock_id" | "resource"> {
  const [, lock_id, resource] = /^([0-9a-f-]{36})\.(.+)$/.exec(cursor) ?? [];
  if (lock_id === undefined || resource === undefined) throw invalidArgument("after", "no cursor of an earlier page");
  return { lock_id, resource };
}
