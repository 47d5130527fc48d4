/**
 * Waits for a lock on any store: sends the request, joins the queue, and retries when woken. A release wakes the next
 * waiter. A slow poll stands behind that, because a wake-up can get lost, and because the death of a holder wakes no
 * waiter. The first in the queue polls often enough to notice a death in a fraction of a second; the others poll only
 * to keep their place.
 */

import { showDuration } from "../../base/duration.js";
import { HoldfastError } from "../../base/errors.js";
import type { Moment, SharedTimer } from "../../base/shared-timer.js";
import type { Contention } from "../../lock/contention.js";
import type { Grant, Want } from "../../lock/grant.js";
import { TICKET_LEASE_MS } from "../../lock/profile.js";
import type { Answer, Store, Waiting } from "../../store/contract.js";
import type { LongWait } from "./long-wait.js";
import { type OwnHolder, ownText, withOwn } from "./own-holder.js";

const POLL_NEXT_MS = 50;
const ASK_AGAIN_MS = 200;
const POLL_OTHERS_MS = TICKET_LEASE_MS / 4;

export interface Attempt {
  readonly wants: readonly Want[];
  readonly waitMs: number;
  /** Ends the wait, as the workplace does that closes: it aborts this and rings `looks`. */
  readonly closing: AbortSignal;
  /** The caller's own, which ends it too. */
  readonly signal: AbortSignal | undefined;
  /** By it the request looks again when nobody wakes it. */
  readonly looks: SharedTimer;
  readonly ask: (waiting: Waiting) => Promise<Answer>;
  /** What the waiter was given without asking. */
  readonly look: () => Given | null;
  /** Watches over the wait from the moment it stands in the queue. */
  readonly lasting?: (ticketId: string) => LongWait;
  /** The caller's own part in a refusal, by its report. */
  readonly ownHolder?: (contention: Contention) => OwnHolder | null;
  /** Gives the place in line back; with a report the refusal goes on record. */
  readonly leave: (ticketId: string, report: Contention | null) => Promise<void>;
}

type Given = Extract<Answer, { kind: "granted" }>;

export interface Granted {
  readonly grants: readonly Grant[];
  readonly ended: readonly Grant[];
  readonly waitedMs: number;
  /** As in the store's answer. */
  readonly since: number | undefined;
}

/** `E_LOCK_CONFLICT` when it does not wait, `E_LOCK_TIMEOUT` when the wait was too short, or the signal's reason. */
export async function untilGranted(attempt: Attempt, store: Pick<Store, "wakeUps">, nonce: string): Promise<Granted> {
  stopIfAsked(attempt);
  const first = await attempt.ask({ waitMs: attempt.waitMs, ticketId: null });
  if (first.kind === "granted") return granted(first, 0);
  if (first.kind === "conflict") throw conflict(first.contention, attempt.ownHolder?.(first.contention));
  return await standInLine(attempt, first, store.wakeUps, nonce);
}

function stopIfAsked({ closing, signal }: Attempt): void {
  closing.throwIfAborted();
  signal?.throwIfAborted();
}

function granted({ grants, ended, since }: Given, waitedMs: number): Granted {
  return { grants, ended, waitedMs, since };
}

type Queued = Extract<Answer, { kind: "queued" }>;

async function standInLine(
  attempt: Attempt,
  { ticketId, ahead }: Queued,
  wakeUps: Store["wakeUps"],
  nonce: string,
): Promise<Granted> {
  const startedAt = performance.now();
  const alarm = new Alarm(attempt);
  const listening = wakeUps.listen(nonce, ticketId, alarm.ring);
  const lasting = attempt.lasting?.(ticketId);
  let inLine = true;
  let report: Contention | null = null;
  try {
    if (!listening.mayHaveMissed) await alarm.rungWithin(Math.min(attempt.waitMs, pollMs(ahead)));
    for (;;) {
      stopIfAsked(attempt);
      const isLast = performance.now() - startedAt >= attempt.waitMs;
      const waiting = { waitMs: isLast ? 0 : attempt.waitMs, ticketId };
      const answer = attempt.look() ?? (await askPatiently(attempt, waiting, startedAt, alarm));
      const waitedMs = performance.now() - startedAt;
      if (answer.kind === "granted") {
        inLine = false;
        return granted(answer, waitedMs);
      }
      if (answer.kind === "conflict") {
        report = answer.contention;
        throw timeout(attempt.waitMs, answer.contention, attempt.ownHolder?.(answer.contention));
      }
      const deadlock = lasting === undefined ? null : await lasting.look(waitedMs);
      if (deadlock !== null) {
        report = deadlock.details.contention as Contention;
        throw deadlock;
      }
      const leftMs = Math.max(0, attempt.waitMs - waitedMs);
      await alarm.rungWithin(Math.min(leftMs, pollMs(answer.ahead), lasting?.leftMs(waitedMs) ?? leftMs));
    }
  } finally {
    listening[Symbol.dispose]();
    alarm.dispose();
    if (inLine) await leaveQuietly(attempt, ticketId, report);
  }
}

/** A store that is out of reach for a while does not end a wait; one that stays so until its end does. */
async function askPatiently(attempt: Attempt, waiting: Waiting, startedAt: number, alarm: Alarm): Promise<Answer> {
  for (;;) {
    try {
      return await attempt.ask(waiting);
    } catch (error) {
      const leftMs = attempt.waitMs - (performance.now() - startedAt);
      if (!isUnavailable(error) || leftMs <= 0) throw error;
      await alarm.rungWithin(Math.min(leftMs, ASK_AGAIN_MS));
      stopIfAsked(attempt);
    }
  }
}

/** A place that cannot be given back is lost by itself soon. */
async function leaveQuietly(attempt: Attempt, ticketId: string, report: Contention | null): Promise<void> {
  try {
    await attempt.leave(ticketId, report);
  } catch (error) {
    if (!isUnavailable(error)) throw error;
  }
}

function isUnavailable(error: unknown): boolean {
  return error instanceof HoldfastError && error.code === "E_STORE_UNAVAILABLE";
}

function pollMs(ahead: number): number {
  return Math.min(POLL_NEXT_MS * (ahead + 1), POLL_OTHERS_MS);
}

/** Something to sleep on that remembers having rung while nobody slept. */
class Alarm implements Moment {
  readonly ring = (): void => {
    this.#hasRung = true;
    this.#wakeUp();
  };
  readonly #attempt: Attempt;
  #hasRung = false;
  #dueAt = 0;
  #wakeSleeper: (() => void) | null = null;

  constructor(attempt: Attempt) {
    this.#attempt = attempt;
    if (attempt.signal !== undefined) ringersOf(attempt.signal).add(this.ring);
  }

  /** Not at all once the wait is to end, also if that was said while nobody slept. */
  rungWithin(ms: number): Promise<void> {
    const { closing, signal, looks } = this.#attempt;
    return new Promise((resolve) => {
      this.#wakeSleeper = resolve;
      // mutant: stop-while-asking: this.#hasRung || closing.aborted || signal?.aborted → this.#hasRung
      if (this.#hasRung || closing.aborted || signal?.aborted) return this.#wakeUp();
      this.#dueAt = performance.now() + ms;
      looks.watch(this);
    });
  }

  leftMs(): number {
    return this.#dueAt - performance.now();
  }

  onTime(): void {
    this.#wakeUp();
  }

  dispose(): void {
    if (this.#attempt.signal !== undefined) ringersOf(this.#attempt.signal).delete(this.ring);
  }

  #wakeUp(): void {
    const wakeSleeper = this.#wakeSleeper;
    if (wakeSleeper === null) return;
    this.#wakeSleeper = null;
    this.#hasRung = false;
    this.#attempt.looks.forget(this);
    wakeSleeper();
  }
}

/**
 * Whom a signal rings: one listener for however many wait with it, since Node warns of the eleventh, and none when nobody
 * does, since a signal made of others, or of a time, is kept for as long as somebody listens.
 */
class Ringers {
  readonly #signal: AbortSignal;
  readonly #all = new Set<() => void>();
  readonly #ring = (): void => {
    for (const ring of this.#all) ring();
  };

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  add(ring: () => void): void {
    if (this.#all.size === 0) this.#signal.addEventListener("abort", this.#ring);
    this.#all.add(ring);
  }

  delete(ring: () => void): void {
    this.#all.delete(ring);
    // mutant: signal-kept: === 0) this.#signal.removeEventListener → < 0) this.#signal.removeEventListener
    if (this.#all.size === 0) this.#signal.removeEventListener("abort", this.#ring);
  }
}

const ringers = new WeakMap<AbortSignal, Ringers>();

function ringersOf(signal: AbortSignal): Ringers {
  const known = ringers.get(signal) ?? new Ringers(signal);
  ringers.set(signal, known);
  return known;
}

function inTheWay({ owner, holder, lease_remaining_s, queue_length }: Contention): string {
  const line = queue_length === 0 ? "" : `, ${queue_length} in line`;
  if (holder === null && queue_length === 0) return "its record in the store cannot be read";
  return holder === null
    ? `others are in line for it${line}`
    : `held by ${owner} (${holder}) for ${lease_remaining_s} s still${line}`;
}

/** The error of a request that waited this long, or did not want to. */
export function refusal(waitMs: number, contention: Contention, own: OwnHolder | null = null): HoldfastError {
  return waitMs <= 0 ? conflict(contention, own) : timeout(waitMs, contention, own);
}

function conflict(contention: Contention, own: OwnHolder | null = null): HoldfastError {
  return new HoldfastError(
    "E_LOCK_CONFLICT",
    `${contention.resource} is not free: ${inTheWay(contention)}${ownText(own)}`,
    withOwn("E_LOCK_CONFLICT", own, { contention }),
  );
}

function timeout(waitMs: number, contention: Contention, own: OwnHolder | null = null): HoldfastError {
  return new HoldfastError(
    "E_LOCK_TIMEOUT",
    `${contention.resource} was not free within ${showDuration(waitMs)}: ${inTheWay(contention)}${ownText(own)}`,
    withOwn("E_LOCK_TIMEOUT", own, { contention, waited_ms: waitMs }),
  );
}
