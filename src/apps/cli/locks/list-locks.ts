/** Lists the locks that are held, a page at a time. */

import { invalidArgument } from "../../../base/errors.js";
import { given } from "../../../base/given.js";
import type { GrantRecord } from "../../../lock/grant.js";
import type { ContextWith, Outcome } from "../command.js";
import { goneWorktreeNotes } from "./gone-worktrees.js";
import { grantTable } from "./grants-text.js";

const DEFAULT_LIMIT = 1_000;

interface ListFlags {
  readonly prefix: string | undefined;
  readonly limit: number | undefined;
  readonly after: string | undefined;
}

export async function listLocks(context: ContextWith<ListFlags>): Promise<Outcome> {
  const { flags, openForReading } = context;
  const { prefix, limit = DEFAULT_LIMIT, after: cursor } = flags;
  const holdfast = await openForReading();
  const after = cursor === undefined ? undefined : placeOf(cursor);
  const grants = (await holdfast?.list({ limit, ...given({ prefix, after }) })) ?? [];
  const last = grants.at(-1);
  const next = last === undefined || grants.length < limit ? null : cursorOf(last);
  return {
    data: { grants, next },
    text: (screen) => (grants.length === 0 ? "" : grantTable(grants, screen)),
    notes: [
      ...goneWorktreeNotes(context, grants),
      ...(grants.length === 0 ? ["nothing is held"] : next === null ? [] : [`more: the same with --after '${next}'`]),
    ],
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
