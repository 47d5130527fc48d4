/**
 * Searches the entries of the audit trail that are older than the kept ones. A search may take long and continues while
 * answers are given: each answer says how far the search is, and the page repeats its request. Of several searches the one
 * that was requested last continues and the others rest, so that a search for a half-typed word does not delay the next. A
 * resting search that is no longer requested is dropped.
 */
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import type { AuditTrail } from "../../client/reading/audit-trail.js";
import type { AuditEntry, AuditFilter } from "../../lock/audit.js";

const MOST_SEARCHES = 20;
/** So long an answer waits for a search: most are over by then. */
const PATIENCE_MS = 300;
const REST_MS = 25;
/** A page that is looked at asks about every second, and a slow one every few. */
const GIVEN_UP_AFTER_MS = 10_000;
/** One that is not over has not searched all. */
const ALMOST = 0.99;

interface Search {
  readonly limit: number;
  /** What was found; until it is over, what the one before it had found. */
  entries: readonly AuditEntry[];
  /** From 0 to 1. */
  searched: number;
  askedAt: number;
  /** Something that came later is not kept any more: when it is over, it is not all. */
  isAged: boolean;
  over: Promise<void>;
  isOver: boolean;
}

class GivenUp extends Error {}

export class PastSearches {
  readonly #audit: AuditTrail;
  readonly #searches = new Map<string, Search>();

  constructor(audit: AuditTrail) {
    this.#audit = audit;
  }

  /** What was found so far, and how much was searched, from 0 to 1. */
  async find(filter: AuditFilter, limit: number): Promise<Pick<Search, "entries" | "searched">> {
    const name = JSON.stringify(filter);
    const before = this.#searches.get(name);
    const isGood = before !== undefined && before.limit >= limit && !(before.isAged && before.isOver);
    const search = isGood ? before : this.#begin(name, filter, limit, before?.entries ?? []);
    search.askedAt = performance.now();
    const answered = new AbortController();
    const patience = sleep(PATIENCE_MS, undefined, { signal: answered.signal }).catch(() => undefined);
    await Promise.race([search.over, patience]).finally(() => answered.abort());
    return search;
  }

  /** Some of what came later is not kept any more: what is searched from now on finds it. */
  age(): void {
    for (const search of this.#searches.values()) search.isAged = true;
  }

  /** The record is another one. */
  forget(): void {
    this.#searches.clear();
  }

  #begin(name: string, filter: AuditFilter, limit: number, entries: Search["entries"]): Search {
    const askedAt = performance.now();
    const over = Promise.resolve();
    const search: Search = { limit, entries, searched: 0, askedAt, isAged: false, over, isOver: false };
    this.#searches.delete(name);
    this.#searches.set(name, search);
    const [oldest] = this.#searches.keys();
    if (oldest !== undefined && this.#searches.size > MOST_SEARCHES) this.#searches.delete(oldest);
    search.over = this.#search(name, search, filter);
    search.over.catch(() => undefined); // Told to whoever asks.
    return search;
  }

  async #search(name: string, search: Search, filter: AuditFilter): Promise<void> {
    const isWanted = (): boolean => this.#searches.get(name) === search;
    const onTurn = async (searched: number): Promise<void> => {
      search.searched = Math.min(searched, ALMOST);
      await setImmediate();
      while (isWanted() && this.#isBehind(search)) {
        if (performance.now() - search.askedAt > GIVEN_UP_AFTER_MS) this.#searches.delete(name);
        else await sleep(REST_MS);
      }
      if (!isWanted()) throw new GivenUp();
    };
    try {
      search.entries = await this.#audit.search({ ...filter, limit: search.limit }, onTurn);
      search.searched = 1;
    } catch (error) {
      if (isWanted()) this.#searches.delete(name);
      if (!(error instanceof GivenUp)) throw error;
    } finally {
      search.isOver = true;
    }
  }

  #isBehind({ askedAt }: Search): boolean {
    for (const other of this.#searches.values()) if (!other.isOver && other.askedAt > askedAt) return true;
    return false;
  }
}
