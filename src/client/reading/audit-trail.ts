/** Reads the audit trail: entries by filter, following new ones, and verifying the chains. */
import { setImmediate } from "node:timers/promises";
import { checkOptions, type OptionNames } from "../../base/check-options.js";
import { invalidArgument } from "../../base/errors.js";
import { sleep } from "../../base/sleep.js";
import { AUDIT_EVENTS, type AuditEntry, type AuditFilter, matches } from "../../lock/audit.js";
import { type Key, parseKey, treeOf } from "../../lock/key.js";
import type { AuditVerdict, Reader, Store } from "../../store/contract.js";
import { parseSignal } from "../options.js";

const PAGE = 500;
const FOLLOW_EVERY_MS = 100;
/** It rests so many times longer than a look takes, which is long where there are many chains. */
const REST = 4;
/** After so long of a search the rest of the process gets a turn: files are read without one. */
const TURN_MS = 20;

export interface AuditListOptions extends AuditFilter {
  /** At most this many; default 1,000, at most 50,000. */
  readonly limit?: number;
}

export interface FollowOptions extends AuditFilter {
  readonly signal?: AbortSignal;
  /** Start with what is already there instead of what comes. */
  readonly fromStart?: boolean;
}

const FILTER: OptionNames<AuditFilter> = {
  resource: true,
  owner: true,
  event: true,
  since: true,
  until: true,
  text: true,
};
const LIST: OptionNames<AuditListOptions> = { ...FILTER, limit: true };
const FOLLOW: OptionNames<FollowOptions> = { ...FILTER, signal: true, fromStart: true };
const VERIFY: OptionNames<{ readonly resource?: string }> = { resource: true };

export interface AuditTrail {
  /** Entries in the order of time, each chain in its own order. */
  list(options?: AuditListOptions): Promise<readonly AuditEntry[]>;
  /** The last entries, oldest first; reads backwards from the end. */
  recent(options?: AuditListOptions): Promise<readonly AuditEntry[]>;
  /** @internal The same, for one who wants to know how far it is, from 0 to 1, and lets it wait or ends it by throwing. */
  search(options: AuditListOptions, onTurn: (searched: number) => Promise<void>): Promise<readonly AuditEntry[]>;
  /** Re-reads whole chains; `bad` names the first entry of each that is not as it was written. */
  verify(options?: { readonly resource?: string }): Promise<AuditVerdict>;
  /** Entries as they come, until the signal aborts. */
  follow(options?: FollowOptions): AsyncIterableIterator<AuditEntry>;
  /** @internal Where the chains end now. */
  ends(): Promise<Map<Key, number>>;
  /**
   * @internal What came behind these ends, chain by chain; the ends move on. Null when that is more than `most`, or when
   * they are not the ends of these chains.
   */
  news(ends: Map<Key, number>, most: number): Promise<readonly AuditEntry[] | null>;
}

export function createAuditTrail({ reader }: Store): AuditTrail {
  async function treesFor(filter: AuditFilter, heads = () => reader.auditHeads()): Promise<Key[]> {
    checkFilter(filter);
    if (filter.resource !== undefined) return [treeOf(parseKey(filter.resource, "resource"))];
    return [...(await heads()).keys()];
  }

  /** The chains that may have gone on since: one look at all heads costs less than one at each chain. */
  async function treesBehind(positions: ReadonlyMap<Key, number>, filter: AuditFilter): Promise<Key[]> {
    if (filter.resource !== undefined) return treesFor(filter);
    checkFilter(filter);
    const heads = await reader.auditHeads();
    // mutant: follow-all: seq > (positions.get(tree) ?? 0) → seq > 0 || positions.has(tree)
    return [...heads].filter(([tree, seq]) => seq > (positions.get(tree) ?? 0)).map(([tree]) => tree);
  }

  async function* followFrom(
    start: Promise<Map<Key, number>>,
    filter: AuditFilter,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<AuditEntry> {
    const positions = await start;
    while (!signal?.aborted) {
      const startedAt = performance.now();
      const behind = await treesBehind(positions, filter);
      const lookedForMs = performance.now() - startedAt;
      for (const tree of behind) yield* readChain(tree, positions, filter);
      try {
        await sleep(Math.max(FOLLOW_EVERY_MS, REST * lookedForMs), signal);
      } catch (error) {
        if (signal?.aborted) return;
        throw error;
      }
    }
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

  async function search(
    options: AuditListOptions,
    onTurn: (searched: number) => Promise<void>,
  ): Promise<readonly AuditEntry[]> {
    checkOptions(options, LIST);
    const { limit = 20, ...filter } = options;
    checkLimit(limit);
    const heads = await reader.auditHeads();
    const chains = (await treesFor(filter, async () => heads)).map((tree) => new ChainEnd(tree, heads.get(tree) ?? 0));
    const all = chains.reduce((sum, { left }) => sum + left, 0);
    let read = 0;
    let turnAt = performance.now();
    for (let open = chains; open.length > 0; ) {
      for (const chain of open) {
        read += await chain.readBack(reader, filter);
        if (performance.now() - turnAt < TURN_MS) continue;
        await onTurn(read / all);
        turnAt = performance.now();
      }
      const from = timeOfLast(chains, limit);
      open = chains.filter((chain) => chain.mayHaveSince(from, limit));
    }
    const found: Placed[] = [];
    for (const { entries } of chains)
      for (const entry of entries.slice(-limit)) found.push(placeAfter(found.at(-1), entry));
    return byTime(found)
      .slice(-limit)
      .map(({ entry }) => entry);
  }

  const ends = async (): Promise<Map<Key, number>> => new Map(await reader.auditHeads());

  return {
    ends,
    async news(known, most) {
      const heads = await reader.auditHeads();
      let count = 0;
      for (const [tree, seq] of heads) count += Math.max(0, seq - (known.get(tree) ?? 0));
      if (count > most || [...known].some(([tree, seq]) => seq > (heads.get(tree) ?? 0))) return null;
      const found: AuditEntry[] = [];
      for (const [tree, seq] of heads)
        if (seq > (known.get(tree) ?? 0)) for await (const entry of readChain(tree, known, {})) found.push(entry);
      return found;
    },
    async list(options = {}) {
      checkOptions(options, LIST);
      const { limit = 1_000, ...filter } = options;
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
    recent: (options = {}) => search(options, () => setImmediate()),
    search,
    async verify(options = {}) {
      checkOptions(options, VERIFY);
      const { resource } = options;
      return reader.verifyAudit(resource === undefined ? null : treeOf(parseKey(resource, "resource")));
    },
    follow(options = {}) {
      checkOptions(options, FOLLOW);
      const { signal, fromStart = false, ...filter } = options;
      parseSignal(signal);
      const start = fromStart ? Promise.resolve(new Map<Key, number>()) : ends();
      start.catch(() => undefined); // It fails with the first entry that is asked for, which may be never.
      return followFrom(start, filter, signal);
    },
  };
}

/** A chain that is read from its end, a page at a time. */
class ChainEnd {
  readonly entries: AuditEntry[] = [];
  readonly #tree: Key;
  #end: number;
  /** The latest time in the page that was read last. */
  #reached = "";

  constructor(tree: Key, end: number) {
    this.#tree = tree;
    this.#end = end;
  }

  /** How many entries were not read yet. */
  get left(): number {
    return this.#end;
  }

  /** How many entries it read. */
  async readBack(reader: Reader, filter: AuditFilter): Promise<number> {
    if (this.#end === 0) return 0;
    const afterSeq = Math.max(0, this.#end - PAGE);
    const page = await reader.audit({ tree: this.#tree, afterSeq, limit: this.#end - afterSeq });
    this.entries.unshift(...page.filter((entry) => matches(entry, filter)));
    this.#reached =
      page
        .map(({ at }) => at)
        .sort()
        .at(-1) ?? "";
    const before = this.#end;
    this.#end = isBefore(page, filter.since) ? 0 : afterSeq;
    return before - this.#end;
  }

  /** Whether what was not read yet may be among the last. */
  mayHaveSince(from: string, limit: number): boolean {
    return this.#end > 0 && this.entries.length < limit && this.#reached >= from;
  }
}

/** Since when there are so many; the beginning of time while there are fewer. */
function timeOfLast(chains: readonly ChainEnd[], limit: number): string {
  const times = chains.flatMap(({ entries }) => entries.map(({ at }) => at)).sort();
  return times[times.length - limit] ?? "";
}

function checkFilter({ event, since, until, text }: AuditFilter): void {
  if (event !== undefined && !AUDIT_EVENTS.includes(event))
    throw invalidArgument("event", `one of ${AUDIT_EVENTS.join(", ")}`);
  for (const [field, time] of Object.entries({ since, until }))
    if (time !== undefined && !(time instanceof Date && Number.isFinite(time.getTime())))
      throw invalidArgument(field, "a date");
  if (text !== undefined && (typeof text !== "string" || text === "")) throw invalidArgument("text", "some text");
}

function checkLimit(limit: number): void {
  if (!Number.isInteger(limit) || limit < 1 || limit > 50_000)
    throw invalidArgument("limit", "a whole number from 1 to 50,000");
}

/** Nothing older is looked at then. A page, not an entry: a clock that was set back makes single ones look old. */
function isBefore(page: readonly AuditEntry[], since: Date | undefined): boolean {
  return since !== undefined && page.every(({ at }) => at < since.toISOString());
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
