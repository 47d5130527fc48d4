/** Reading the record of what happened. */
import { AUDIT_EVENTS, type AuditEntry, type AuditFilter, matches } from "../lock/audit.js";
import { type Key, parseKey, treeOf } from "../lock/key.js";
import type { AuditVerdict, Store } from "../store/contract.js";
import { invalidArgument } from "../support/errors.js";
import { sleep } from "../support/sleep.js";

const PAGE = 500;
const FOLLOW_EVERY_MS = 100;

export interface AuditListOptions extends AuditFilter {
  /** At most this many; default 1,000, at most 50,000. */
  readonly limit?: number;
}

export interface FollowOptions extends AuditFilter {
  readonly signal?: AbortSignal;
  /** Start with what is already there instead of what comes. */
  readonly fromStart?: boolean;
}

export interface AuditTrail {
  /** Entries in the order of time, each chain in its own order. */
  list(options?: AuditListOptions): Promise<readonly AuditEntry[]>;
  /** The last entries, oldest first; reads backwards from the end. */
  recent(options?: AuditListOptions): Promise<readonly AuditEntry[]>;
  /** Re-reads whole chains; `bad` names the first entry of each that is not as it was written. */
  verify(options?: { readonly resource?: string }): Promise<AuditVerdict>;
  /** Entries as they come, until the signal aborts. */
  follow(options?: FollowOptions): AsyncIterableIterator<AuditEntry>;
}

export function createAuditTrail({ reader }: Store): AuditTrail {
  async function treesFor(filter: AuditFilter): Promise<Key[]> {
    checkFilter(filter);
    if (filter.resource !== undefined) return [treeOf(parseKey(filter.resource, "resource"))];
    return [...(await reader.auditHeads()).keys()];
  }

  /** The chains that may have gone on since: one look at all heads costs less than one at each chain. */
  async function treesBehind(positions: ReadonlyMap<Key, number>, filter: AuditFilter): Promise<Key[]> {
    if (filter.resource !== undefined) return treesFor(filter);
    checkFilter(filter);
    const heads = await reader.auditHeads();
    return [...heads].filter(([tree, seq]) => seq > (positions.get(tree) ?? 0)).map(([tree]) => tree);
  }

  async function* followFrom(
    start: Promise<Map<Key, number>>,
    filter: AuditFilter,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<AuditEntry> {
    const positions = await start;
    while (!signal?.aborted) {
      yield* readFrom(positions, filter);
      try {
        await sleep(FOLLOW_EVERY_MS, signal);
      } catch {
        return;
      }
    }
  }

  async function* readFrom(positions: Map<Key, number>, filter: AuditFilter): AsyncGenerator<AuditEntry> {
    for (const tree of await treesBehind(positions, filter)) yield* readChain(tree, positions, filter);
  }

  async function* readChain(tree: Key, positions: Map<Key, number>, filter: AuditFilter): AsyncGenerator<AuditEntry> {
    for (;;) {
      const page = await reader.audit({ tree, afterSeq: positions.get(tree) ?? 0, limit: PAGE });
      for (const entry of page) {
        positions.set(tree, entry.seq);
        if (matches(entry, filter)) yield entry;
      }
      if (page.length < PAGE) return;
    }
  }

  /** No more of a chain than could be among the first: the rest of it comes later than these. */
  async function firstOf(tree: Key, filter: AuditFilter, limit: number): Promise<Placed[]> {
    const found: Placed[] = [];
    for await (const entry of readChain(tree, new Map(), filter)) {
      found.push(placeAfter(found.at(-1), entry));
      if (found.length === limit) break;
    }
    return found;
  }

  return {
    async list({ limit = 1_000, ...filter } = {}) {
      checkLimit(limit);
      let found: Placed[] = [];
      for (const tree of await treesFor(filter)) {
        for (const each of await firstOf(tree, filter, limit)) found.push(each);
        if (found.length > 2 * limit) found = byTime(found).slice(0, limit);
      }
      return byTime(found)
        .slice(0, limit)
        .map(({ entry }) => entry);
    },
    async recent({ limit = 20, ...filter } = {}) {
      checkLimit(limit);
      const heads = await reader.auditHeads();
      const found: Placed[] = [];
      for (const tree of await treesFor(filter)) {
        const own: AuditEntry[] = [];
        for (let end = heads.get(tree) ?? 0; end > 0 && own.length < limit; end -= PAGE) {
          const afterSeq = Math.max(0, end - PAGE);
          const page = await reader.audit({ tree, afterSeq, limit: end - afterSeq });
          own.unshift(...page.filter((entry) => matches(entry, filter)));
        }
        for (const entry of own.slice(-limit)) found.push(placeAfter(found.at(-1), entry));
      }
      return byTime(found)
        .slice(-limit)
        .map(({ entry }) => entry);
    },
    async verify({ resource } = {}) {
      return reader.verifyAudit(resource === undefined ? null : treeOf(parseKey(resource, "resource")));
    },
    follow({ signal, fromStart = false, ...filter } = {}) {
      const start = fromStart
        ? Promise.resolve(new Map<Key, number>())
        : reader.auditHeads().then((heads) => new Map(heads));
      return followFrom(start, filter, signal);
    },
  };
}

function checkFilter({ event, since, until }: AuditFilter): void {
  if (event !== undefined && !AUDIT_EVENTS.includes(event))
    throw invalidArgument("event", `one of ${AUDIT_EVENTS.join(", ")}`);
  for (const [field, time] of Object.entries({ since, until }))
    if (time !== undefined && !(time instanceof Date && Number.isFinite(time.getTime())))
      throw invalidArgument(field, "a date");
}

function checkLimit(limit: number): void {
  if (!Number.isInteger(limit) || limit < 1 || limit > 50_000)
    throw invalidArgument("limit", "a whole number from 1 to 50,000");
}

function byTime(found: Placed[]): Placed[] {
  return found.sort((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0));
}

interface Placed {
  readonly entry: AuditEntry;
  /** Where it goes among the entries of other chains. */
  readonly time: string;
}

/** A clock that was set back does not turn a chain round: an entry counts as no older than the one before it. */
function placeAfter(before: Placed | undefined, entry: AuditEntry): Placed {
  const isSameChain = before !== undefined && treeOf(before.entry.resource as Key) === treeOf(entry.resource as Key);
  return { entry, time: isSameChain && before.time > entry.at ? before.time : entry.at };
}
