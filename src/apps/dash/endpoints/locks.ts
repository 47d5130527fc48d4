/** The endpoint `locks`: the locks that are held, a page at a time, filtered by text and sorted. */
import { toHeld } from "../../../client/reading/lock-status.js";
import type { GrantRecord } from "../../../lock/grant.js";
import { type Key, nodesOf } from "../../../lock/key.js";
import type { Query } from "../query.js";
import type { Sources } from "../sources.js";
import type { LockRow, LockSort, LocksView } from "../views.js";

/** More is not read: whoever has more locks than this looks for one by its key. */
const MOST_READ = 20_000;
const MOST_WAITING = 1_000;
const PAGE = 100;
const SORTS: readonly LockSort[] = ["key", "expires", "waiting"];

export async function locks({ holdfast }: Sources, query: Query): Promise<Omit<LocksView, "now">> {
  const text = query.text("text")?.toLowerCase();
  const sort = query.oneOf("sort", SORTS) ?? "key";
  const wanted = query.integer("page", 1, 1, MOST_READ);
  const grants = await holdfast.listAs(toHeld, { limit: MOST_READ });
  const waiters = await holdfast.inLine(MOST_WAITING);
  const lines = new Lines(waiters.flatMap(({ wants }) => wants.map(({ resource }) => resource)));
  const rows = grants
    .filter((grant) => text === undefined || isFound(grant, text))
    .map((grant): LockRow => ({ ...grant, waiting: lines.around(grant.resource) }))
    .sort(ORDERS[sort]);
  const pages = Math.max(1, Math.ceil(rows.length / PAGE));
  const page = Math.min(wanted, pages);
  return {
    locks: rows.slice((page - 1) * PAGE, page * PAGE),
    matching: rows.length,
    read: grants.length,
    expired: grants.filter(({ state }) => state === "expired").length,
    is_all: grants.length < MOST_READ,
    page,
    pages,
    waiting: waiters.length,
  };
}

function isFound({ resource, owner, holder_id: holder }: GrantRecord, text: string): boolean {
  return [resource, owner, holder].some((each) => each.toLowerCase().includes(text));
}

const byKey = (a: LockRow, b: LockRow): number => (a.resource < b.resource ? -1 : a.resource > b.resource ? 1 : 0);

const ORDERS: Readonly<Record<LockSort, (a: LockRow, b: LockRow) => number>> = {
  key: byKey,
  expires: (a, b) => Date.parse(a.lease_expires_at) - Date.parse(b.lease_expires_at) || byKey(a, b),
  waiting: (a, b) => b.waiting - a.waiting || byKey(a, b),
};

/** How many wait for something at a key, above it or below it. */
class Lines {
  readonly #at = new Map<string, number>();
  readonly #below = new Map<string, number>();

  constructor(wanted: readonly string[]) {
    for (const key of wanted) {
      const nodes = nodesOf(key as Key);
      for (const node of nodes) raise(node === key ? this.#at : this.#below, node);
    }
  }

  around(key: string): number {
    let count = this.#below.get(key) ?? 0;
    for (const node of nodesOf(key as Key)) count += this.#at.get(node) ?? 0;
    return count;
  }
}

function raise(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
