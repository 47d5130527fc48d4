/**
 * Watches over a wait that lasts: warns of a wait for the instance's own lock, and finds circles of waits.
 *
 * Two programs that each hold one key and wait for the other's would wait until their time is up. From the store alone that
 * looks like two servers, each with one task that holds a key and another that waits. So each waiter says itself what it
 * keeps. Once a wait has lasted a second, and while nothing else happens in the process (no other request under way,
 * nothing done with a lease since the wait began, next to no processor time used, and nothing that keeps the event loop alive
 * but waits), it notes in its ticket the grants that it keeps until the wait ends. It takes the note back when anything moves.
 * A circle consists of such notes only, is read twice, half a second apart, and must be the same both times; then the youngest
 * ticket is refused.
 *
 * The look reads around the keys that the members keep and want, and nothing else, so its cost does not grow with other
 * trees. A crash leaves the note in a ticket that lapses within seconds. Not seen are circles through detached grants,
 * semaphores, upgrades, places in a queue, and processes with other work under way: those waits end by their time limit.
 */
import { HoldfastError } from "../../base/errors.js";
import { byEntry, type Circle, circleThrough, isHeldUpBy } from "../../lock/circles.js";
import { type Contention, contentionReport } from "../../lock/contention.js";
import type { Grant, Kept, Ticket, Want } from "../../lock/grant.js";
import type { Key } from "../../lock/key.js";
import { ticketStands } from "../../lock/profile.js";
import { OtherWork } from "../../platform/other-work.js";
import type { LeaseHome } from "../lease/lease-context.js";
import { circleText, toWaitCircle } from "../reading/circles.js";
import { warnOfOwnWait } from "./own-holder.js";

const LOOK_AFTER_MS = 1_000;
/** A program that has just begun to wait still uses processor time to get ready. */
const MEASURE_AFTER_MS = 400;
const CONFIRM_AFTER_MS = 500;
const LOOK_AGAIN_MS = 200;
/** After this long, looks become rarer. */
const OFTEN_UNTIL_MS = 2_000;
/** A program that holds more is taken for one of many tasks. */
const MOST_KEPT = 32;
const MOST_READS = 64;

interface Request {
  readonly wants: readonly Want[];
  readonly waitMs: number;
}

interface Found {
  readonly circle: Circle;
  readonly contention: Contention;
}

export class LongWait {
  readonly #home: LeaseHome;
  readonly #wants: readonly Want[];
  readonly #ticketId: string;
  readonly #moves: number;
  #kept: readonly Kept[] | null = null;
  #warnsAt: number;
  #looksAt = LOOK_AFTER_MS;
  #isNoted = false;
  #otherWork: OtherWork | null = null;
  /** The circle that was found, and when. */
  #suspected: { readonly name: string; readonly at: number } | null = null;

  constructor(home: LeaseHome, { wants, waitMs }: Request, ticketId: string) {
    this.#home = home;
    this.#wants = wants;
    this.#ticketId = ticketId;
    this.#moves = home.holdings.moves;
    this.#warnsAt = Math.min(LOOK_AFTER_MS, waitMs / 2);
  }

  /**
   * Returns how long the waiter may sleep before the next look for a circle. The warning waits for a poll that is due anyway, and
   * so does a look that would find nothing: each of many waiters of one instance would ask the store once more for it.
   */
  leftMs(waitedMs: number): number {
    // mutant: circle-looks-of-many: this.#isNoted || this.#isOnly() → waitedMs >= 0
    return this.#isNoted || this.#isOnly() ? Math.max(0, this.#looksAt - waitedMs) : Infinity;
  }

  /** Returns `E_LOCK_ORDER` when this wait is to end for others to go on. */
  async look(waitedMs: number): Promise<HoldfastError | null> {
    if (waitedMs >= MEASURE_AFTER_MS) this.#otherWork ??= new OtherWork();
    try {
      if (waitedMs >= this.#warnsAt) await this.#warn();
      // mutant: circle-note-stays: if (this.#isNoted && !this.#isQuiet()) await this.#takeBack(); →
      if (this.#isNoted && !this.#isQuiet()) await this.#takeBack();
      if (waitedMs < this.#looksAt) return null;
      this.#looksAt = waitedMs + (waitedMs < OFTEN_UNTIL_MS ? LOOK_AGAIN_MS : waitedMs / 2);
      if (!this.#isQuiet()) return this.#judge(null, waitedMs);
      this.#kept ??= this.#held();
      // One that held nothing when its wait began is in no circle.
      if (this.#kept.length === 0 || this.#kept.length > MOST_KEPT) this.#looksAt = Infinity;
      else return this.#judge(await this.#find(this.#kept), waitedMs);
      return null;
    } catch (error) {
      // A look that fails is repeated later; the wait itself reports what lasts.
      if (error instanceof HoldfastError) return null;
      throw error;
    }
  }

  #judge(found: Found | null, waitedMs: number): HoldfastError | null {
    const name = found === null ? "" : nameOf(found.circle);
    if (found === null || !this.#isYoungest(found.circle)) {
      this.#suspected = null;
      return null;
    }
    if (this.#suspected?.name !== name) this.#suspected = { name, at: waitedMs };
    const isConfirmed = waitedMs - this.#suspected.at >= CONFIRM_AFTER_MS;
    this.#looksAt = this.#suspected.at + CONFIRM_AFTER_MS;
    return isConfirmed && this.#isQuiet() && this.#isAlone(found.circle.length)
      ? deadlock(found, this.#wants, waitedMs)
      : null;
  }

  #isQuiet(): boolean {
    return this.#isOnly() && (this.#inMemory || this.#isAlone(1)) && !this.#otherWork?.isUnderWay();
  }

  /** Whether the instance has done nothing else since the wait began. */
  #isOnly(): boolean {
    const { moves, underWay } = this.#home.holdings;
    // mutant: circle-moved: moves === this.#moves && underWay === 1 → underWay > 0
    return moves === this.#moves && underWay === 1;
  }

  /** Whether at most so many requests are under way in the process. Another instance may serve the task that holds the keys. */
  #isAlone(most: number): boolean {
    // mutant: circle-other-instance: allUnderWay <= most → allUnderWay > 0
    return this.#home.holdings.allUnderWay <= most;
  }

  /** There the members are instances of one process, and each of its requests under way must be one of theirs. */
  get #inMemory(): boolean {
    return this.#home.store.url.startsWith("memory:");
  }

  async #takeBack(): Promise<void> {
    this.#isNoted = false;
    this.#suspected = null;
    await this.#home.store.locks.noteKept(this.#ticketId, this.#wants, null);
  }

  /** As nothing has moved, this was held when the wait began. */
  #held(): readonly Kept[] {
    return this.#home.holdings.grants().map(({ resource, lockId }) => ({ resource, lockId }));
  }

  async #find(kept: readonly Kept[]): Promise<Found | null> {
    const { store, clock } = this.#home;
    await store.locks.noteKept(this.#ticketId, this.#wants, kept);
    this.#isNoted = true;
    const tickets = new Map<string, Ticket>();
    const grants = new Map<string, Grant>();
    const keys = new Set<Key>([...this.#wants, ...kept].map(({ resource }) => resource));
    let reads = 0;
    for (const key of keys) {
      reads += 1;
      if (reads > MOST_READS) break;
      const found = await store.reader.inspect(key);
      const now = clock();
      for (const grant of found.grants) grants.set(grant.lockId, grant);
      for (const ticket of found.waiters) {
        if (!ticket.kept || !ticketStands(ticket, now)) continue;
        tickets.set(ticket.ticketId, ticket);
        for (const { resource } of ticket.kept) keys.add(resource);
      }
    }
    const mine = tickets.get(this.#ticketId);
    if (mine === undefined) return null;
    const held = [...grants.values()];
    const holdersOf = (ticket: Ticket): readonly Grant[] =>
      held.filter((grant) => grant.nonce !== ticket.nonce && isHeldUpBy(ticket, grant));
    const circle = circleThrough(mine, [...tickets.values()], holdersOf);
    const [first] = circle ?? [];
    if (circle === null || first === undefined) return null;
    const others = [...tickets.values()].filter((ticket) => ticket !== mine && isHeldUpBy(ticket, first.waitsFor));
    return { circle, contention: contentionReport(first.waitsFor.resource, holdersOf(mine), others, clock()) };
  }

  #isYoungest(circle: Circle): boolean {
    const tickets = circle.map(({ ticket }) => ticket).sort(byEntry);
    // mutant: circle-oldest: tickets.at(-1) → tickets.at(0)
    return tickets.at(-1)?.ticketId === this.#ticketId;
  }

  async #warn(): Promise<void> {
    this.#warnsAt = Infinity;
    const { holdings, store } = this.#home;
    if (!holdings.grants().some((grant) => mayHoldUp(grant, this.#wants))) return;
    for (const want of this.#wants) {
      const { grants } = await store.reader.inspect(want.resource);
      const holders = grants.filter((grant) => mayHoldUp(grant, [want]));
      // mutant: own-wait-of-others: holders.every( → holders.some(
      if (holders.length > 0 && holders.every(({ lockId }) => holdings.holds(lockId)))
        return warnOfOwnWait(this.#home, want.resource);
    }
  }
}

function mayHoldUp(grant: Grant, wants: readonly Want[]): boolean {
  return isHeldUpBy({ wants, upgradeOf: null }, grant);
}

function nameOf(circle: Circle): string {
  return circle.map(({ ticket, waitsFor }) => `${ticket.ticketId} ${waitsFor.lockId}`).join(" ");
}

function deadlock({ circle, contention }: Found, wants: readonly Want[], waitedMs: number): HoldfastError {
  const members = toWaitCircle(circle);
  const held = members[0]?.holds.resource;
  const wanted = wants.map(({ resource }) => resource);
  const keys = [...new Set([held, ...wanted])].map((key) => JSON.stringify(key)).join(", ");
  return new HoldfastError(
    "E_LOCK_ORDER",
    `waiting for ${contention.resource} would not end, each waits for the next: ${circleText(members)}`,
    {
      details: { contention, circle: members, waited_ms: Math.round(waitedMs) },
      next: [`Release what you hold, then acquire all keys in one call: acquire([${keys}]).`],
    },
  );
}
