/**
 * The one who makes trouble: in turn it kills a worker (and starts it again) and freezes one until its lease is long
 * over. Most of the time it picks a worker in the middle of an edit, because that is where harm is done; every other
 * kill hits anybody, anywhere, also in the middle of a write.
 */
import { EventEmitter, once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { LEASE_MS } from "./workspace.mjs";

const RESTART_AFTER_MS = 900;
const FROZEN_MS = LEASE_MS + 700;
const FROZEN_SPREAD_MS = 600;
const START_WITHIN_MS = 30_000;
/** Slow edits come several times a second; if none does, go on without. */
const SLOW_EDIT_WITHIN_MS = 2_000;
/** Nothing new begins this close to the end: a freeze must be lived through. */
const QUIET_END_MS = FROZEN_MS + FROZEN_SPREAD_MS;
/** A slow machine may need longer to show what there is to show. */
const EXTRA_MS = 60_000;
const TO_BE_SHOWN = ["killed", "stopped", "takeover", "refused"];

export class Supervisor {
  #crew;
  #stop;
  #crash = new AbortController();
  #signal;
  #events = new EventEmitter();
  #seen = new Set();
  #atWork = new Set();
  #pending = [];

  constructor(crew, stop) {
    this.#crew = crew;
    this.#stop = stop;
    this.#signal = AbortSignal.any([stop, this.#crash.signal]);
  }

  hear(event) {
    this.#seen.add(event.kind);
    if (event.kind === "crashed") this.#crash.abort();
    if (event.kind === "acknowledged") this.#atWork.add(event.name);
    if (this.#atWork.size === this.#crew.names.length) this.#events.emit("atWork");
    if (event.kind === "holding" && event.isSlow) this.#events.emit("slowEdit", event.name);
  }

  /**
   * Starts everybody, and once each has written something makes trouble for `seconds`, or a little longer if it was for
   * nothing. Ends early when a worker crashes; rejects when the signal aborts.
   */
  async run(seconds, onAtWork) {
    try {
      for (const name of this.#crew.names) this.#crew.start(name);
      await this.#next("atWork", START_WITHIN_MS);
      onAtWork();
      await this.#makeTrouble(seconds);
    } catch (error) {
      if (this.#stop.aborted || !this.#crash.signal.aborted) throw error;
    }
  }

  async #makeTrouble(seconds) {
    const endAt = performance.now() + seconds * 1_000;
    const pauseMs = Math.min(1_000, (seconds * 1_000) / 16);
    for (let turn = 0; this.#goesOn(endAt); turn += 1) {
      await this.#sleep(pauseMs * (0.7 + Math.random() * 0.6));
      if (turn % 2 === 1) await this.#freezeSomebody();
      else if (turn % 4 === 0) this.#kill(await this.#somebodyEditing());
      else this.#kill(this.#anybody());
    }
    await this.#sleep(Math.max(0, endAt - performance.now()));
    await Promise.all(this.#pending);
  }

  #goesOn(endAt) {
    const now = performance.now();
    if (now < endAt - QUIET_END_MS) return true;
    return now < endAt + EXTRA_MS && !TO_BE_SHOWN.every((kind) => this.#seen.has(kind));
  }

  #kill(member) {
    if (member === undefined || this.#crew.running.length < 2) return;
    this.#crew.kill(member);
    this.#later(RESTART_AFTER_MS, () => this.#crew.start(member.name));
  }

  async #freezeSomebody() {
    const member = await this.#somebodyEditing();
    if (member === undefined || this.#crew.running.length < 2) return;
    this.#crew.stop(member);
    this.#later(FROZEN_MS + Math.random() * FROZEN_SPREAD_MS, () => this.#crew.resume(member));
  }

  /** A worker a little way into an edit that takes its time. */
  async #somebodyEditing() {
    const name = await this.#next("slowEdit", SLOW_EDIT_WITHIN_MS);
    await this.#sleep(20 + Math.random() * 100);
    return this.#crew.running.find((member) => member.name === name && member.holding !== null);
  }

  /** What the event carries, or undefined when it does not come in time. */
  async #next(event, withinMs) {
    const signal = AbortSignal.any([this.#signal, AbortSignal.timeout(withinMs)]);
    try {
      const [about] = await once(this.#events, event, { signal });
      return about;
    } catch (error) {
      if (this.#signal.aborted) throw error;
      return undefined;
    }
  }

  #anybody() {
    const { running } = this.#crew;
    return running[Math.floor(Math.random() * running.length)];
  }

  #later(ms, action) {
    const done = this.#sleep(ms).then(action);
    done.catch(() => undefined);
    this.#pending.push(done);
  }

  #sleep(ms) {
    return sleep(ms, undefined, { signal: this.#signal });
  }
}
