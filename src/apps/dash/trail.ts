/**
 * Keeps the latest entries of the audit trail for the page, which looks every second. A look reads only new entries:
 * its cost depends on what has happened lately and not on the whole history, and nothing is read while no page looks.
 * Older entries never change: they are searched once for each filter (past-searches.ts).
 */
import type { AuditTrail } from "../../client/reading/audit-trail.js";
import { type AuditEntry, type AuditFilter, matches } from "../../lock/audit.js";
import { type Key, treeOf } from "../../lock/key.js";
import { PastSearches } from "./past-searches.js";

/** Entries that are kept; when there are a quarter more, the oldest go. Whoever is further behind begins again. */
const KEPT = 20_000;
/** Read of the past when it is first looked at. */
const READ_FIRST = 5_000;
/** Searches back to a time begin at the last full hour before it. */
const SEARCHED_FROM_MS = 3_600_000;

interface Kept {
  readonly entry: AuditEntry;
  /** A clock that was set back does not turn a chain round: an entry counts as no older than the one before it. */
  readonly time: string;
}

interface Newest {
  readonly entries: readonly AuditEntry[];
  /** How much of the record, from 0 to 1. */
  readonly searched: number;
}

export class Trail {
  readonly #audit: AuditTrail;
  readonly #past: PastSearches;
  readonly #last = new Map<Key, string>();
  #kept: Kept[] = [];
  #known = new Set<string>();
  /** How far each chain was read; null before the first look. */
  #ends: Map<Key, number> | null = null;
  #reading: Promise<void> | null = null;
  /** Entries before this may be missing among those that are kept. */
  #completeSince = "";

  constructor(audit: AuditTrail) {
    this.#audit = audit;
    this.#past = new PastSearches(audit);
  }

  /** All that is kept, oldest first, and from when on nothing is missing, which is not before `time`. */
  async since(time: Date): Promise<{ readonly entries: readonly AuditEntry[]; readonly completeSince: string }> {
    await this.#readOn();
    const from = time.toISOString();
    const entries = this.#kept.map(({ entry }) => entry);
    return { entries, completeSince: later(this.#completeSince, from) };
  }

  /** The newest that match, newest first; while not all was searched, those that were found so far. */
  async newest(filter: AuditFilter, limit: number): Promise<Newest> {
    await this.#readOn();
    const live = this.#matching(filter);
    if (live.length >= limit || this.#hasAllSince(filter.since))
      return { entries: live.slice(-limit).reverse(), searched: 1 };
    const { entries: past, searched } = await this.#past.find(fromFullHour(filter), limit);
    const older = past.filter((entry) => !this.#known.has(entry.hash) && matches(entry, filter));
    return { entries: [...older, ...this.#matching(filter)].slice(-limit).reverse(), searched };
  }

  #matching(filter: AuditFilter): AuditEntry[] {
    return this.#kept.flatMap(({ entry }) => (matches(entry, filter) ? [entry] : []));
  }

  #hasAllSince(since: Date | undefined): boolean {
    return this.#completeSince <= (since?.toISOString() ?? "");
  }

  /** Those who look at one time read once. */
  #readOn(): Promise<void> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null;
    });
    return this.#reading;
  }

  async #read(): Promise<void> {
    const ends = this.#ends;
    const news = ends === null ? null : await this.#newsAfter(ends);
    if (news === null) await this.#begin();
    else this.#add(news);
  }

  /** Ends that moved on while the rest could not be read are not where reading stopped. */
  async #newsAfter(ends: Map<Key, number>): Promise<readonly AuditEntry[] | null> {
    const moving = new Map(ends);
    const news = await this.#audit.news(moving, KEPT);
    this.#ends = moving;
    return news;
  }

  /** Notes the ends first and reads the past then, so that nothing falls between the two. */
  async #begin(): Promise<void> {
    const ends = await this.#audit.ends();
    const past = await this.#audit.recent({ limit: READ_FIRST });
    this.#kept = [];
    this.#known.clear();
    this.#last.clear();
    this.#past.forget();
    this.#ends = ends;
    this.#completeSince = past.length < READ_FIRST ? "" : (past[0]?.at ?? "");
    this.#add(past);
  }

  /** In each chain in its order. */
  #add(entries: readonly AuditEntry[]): void {
    const fresh = entries.filter(({ hash }) => !this.#known.has(hash)).map((entry) => this.#placed(entry));
    if (fresh.length === 0) return;
    for (const { entry } of fresh) this.#known.add(entry.hash);
    this.#kept = [...this.#kept, ...fresh].sort(byTime);
    if (this.#kept.length <= KEPT * 1.25) return;
    for (const { entry } of this.#kept.splice(0, this.#kept.length - KEPT)) this.#known.delete(entry.hash);
    this.#completeSince = this.#kept[0]?.time ?? "";
    this.#past.age();
  }

  #placed(entry: AuditEntry): Kept {
    const tree = treeOf(entry.resource as Key);
    // mutant: dash-clock-back: time = later(this.#last.get(tree) ?? "", entry.at); → time = entry.at;
    const time = later(this.#last.get(tree) ?? "", entry.at);
    this.#last.set(tree, time);
    return { entry, time };
  }
}

/** Of two times as the audit trail writes them. */
function later(a: string, b: string): string {
  return [a, b].sort()[1] as string;
}

/** Finds some from before the time that is asked for: with every look that is another. */
function fromFullHour({ since, ...rest }: AuditFilter): AuditFilter {
  if (since === undefined) return rest;
  return { ...rest, since: new Date(Math.floor(since.getTime() / SEARCHED_FROM_MS) * SEARCHED_FROM_MS) };
}

function byTime(a: Kept, b: Kept): number {
  return a.time < b.time ? -1 : a.time > b.time ? 1 : 0;
}
