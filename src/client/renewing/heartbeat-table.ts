/**
 * The table of leases in shared memory between the main thread and the renewer thread: writing a slot costs a fraction
 * of a message, and the other thread sees it at once, even if the main thread is busy from the next instruction on.
 *
 * A slot belongs to the main thread while FREE and to both while KEPT: the main thread frees it, the renewer thread notes
 * renewals in it and may turn it LOST. The generation tells a slot's leases apart.
 */

import type { Key } from "../../lock/key.js";
import type { GrantRef } from "../../store/contract.js";

export const SLOTS = 1024;
const SLOT_BYTES = 512;
const HEADER_BYTES = 64;

const FREE = 0;
export const KEPT = 1;
const LOST = 2;

/** Int32 fields of the header, behind the sign of progress. */
const BEATING = 2;
const ENDING = 3;
const USED = 4;

/** Int32 fields of a slot. */
const STATE = 0;
const GENERATION = 1;
const LENGTH = 2;
/** Float64 fields of a slot. */
const SINCE = 2;
const LEASE_MS = 3;
const RENEW_TO_MS = 4;
const TEXT_AT = 40;

export const SLOT_TEXT_BYTES = SLOT_BYTES - TEXT_AT;

export interface Slot {
  readonly index: number;
  readonly generation: number;
}

/** The grants of a lease as a slot has them: a line each, of words that hold no blanks. */
export function toText(grants: readonly GrantRef[]): string {
  return grants.map(({ resource, lockId, tokenHash }) => `${resource} ${lockId} ${tokenHash}`).join("\n");
}

export function fromText(text: string): GrantRef[] {
  return text.split("\n").map((line) => {
    const [resource = "", lockId = "", tokenHash = ""] = line.split(" ");
    return { resource: resource as Key, lockId, tokenHash };
  });
}

/** When a lease was last known good, how long it is since then, and how long from the next renewal on. */
export interface Beat {
  readonly since: number;
  readonly leaseMs: number;
  readonly renewToMs: number;
}

export class BeatTable {
  readonly memory: SharedArrayBuffer;
  readonly #ints: Int32Array;
  readonly #floats: Float64Array;
  readonly #bytes: Buffer;

  constructor(memory = new SharedArrayBuffer(HEADER_BYTES + SLOTS * SLOT_BYTES)) {
    this.memory = memory;
    this.#ints = new Int32Array(memory);
    this.#floats = new Float64Array(memory);
    this.#bytes = Buffer.from(memory);
  }

  /** The main thread's sign of progress: milliseconds since boot, in the first field of the header. */
  get progress(): number {
    return this.#floats[0] ?? 0;
  }
  set progress(bootMs: number) {
    this.#floats[0] = bootMs;
  }

  /** The heart thread is at work in the store. */
  get isBeating(): boolean {
    return Atomics.load(this.#ints, BEATING) === 1;
  }
  set isBeating(is: boolean) {
    Atomics.store(this.#ints, BEATING, is ? 1 : 0);
    Atomics.notify(this.#ints, BEATING);
  }

  /** The main thread is about to end: begin nothing more. */
  get isEnding(): boolean {
    return Atomics.load(this.#ints, ENDING) === 1;
  }
  set isEnding(is: boolean) {
    Atomics.store(this.#ints, ENDING, is ? 1 : 0);
  }

  /** How many slots were ever filled: those behind them need no look. */
  get used(): number {
    return Atomics.load(this.#ints, USED);
  }

  waitForStep(atMostMs: number): void {
    Atomics.wait(this.#ints, BEATING, 1, atMostMs);
  }

  /** Main thread: fills a free slot. The state is written last, so that the heart never reads half a line. */
  fill(index: number, text: string, { since, leaseMs, renewToMs }: Beat): Slot {
    const generation = (this.#int(index, GENERATION) + 1) | 0;
    this.#setInt(index, GENERATION, generation);
    this.renewed(index, since, leaseMs);
    this.renewing(index, renewToMs);
    this.#setInt(index, LENGTH, this.#bytes.write(text, this.#byteAt(index) + TEXT_AT, "latin1"));
    this.#setInt(index, STATE, KEPT);
    if (index >= this.used) Atomics.store(this.#ints, USED, index + 1);
    return { index, generation };
  }

  free({ index, generation }: Slot): void {
    if (this.#int(index, GENERATION) === generation) this.#setInt(index, STATE, FREE);
  }

  stateOf(index: number): number {
    return this.#int(index, STATE);
  }

  slotAt(index: number): Slot {
    return { index, generation: this.#int(index, GENERATION) };
  }

  textOf(index: number): string {
    const at = this.#byteAt(index) + TEXT_AT;
    return this.#bytes.toString("latin1", at, at + this.#int(index, LENGTH));
  }

  sinceOf(index: number): number {
    return this.#floats[this.#byteAt(index) / 8 + SINCE] ?? 0;
  }

  leaseMsOf(index: number): number {
    return this.#floats[this.#byteAt(index) / 8 + LEASE_MS] ?? 0;
  }

  beatOf(index: number): Beat {
    return { since: this.sinceOf(index), leaseMs: this.leaseMsOf(index), renewToMs: this.renewToMsOf(index) };
  }

  renewToMsOf(index: number): number {
    return this.#floats[this.#byteAt(index) / 8 + RENEW_TO_MS] ?? 0;
  }

  renewing(index: number, leaseMs: number): void {
    this.#floats[this.#byteAt(index) / 8 + RENEW_TO_MS] = leaseMs;
  }

  renewed(index: number, since: number, leaseMs: number): void {
    this.#floats[this.#byteAt(index) / 8 + SINCE] = since;
    this.#floats[this.#byteAt(index) / 8 + LEASE_MS] = leaseMs;
    this.renewing(index, leaseMs);
  }

  /** Heart thread: notes the loss, unless the slot has moved on to another lease. */
  lose({ index, generation }: Slot): boolean {
    if (this.#int(index, GENERATION) !== generation) return false;
    return Atomics.compareExchange(this.#ints, this.#byteAt(index) / 4 + STATE, KEPT, LOST) === KEPT;
  }

  #byteAt(index: number): number {
    return HEADER_BYTES + index * SLOT_BYTES;
  }
  #int(index: number, field: number): number {
    return Atomics.load(this.#ints, this.#byteAt(index) / 4 + field);
  }
  #setInt(index: number, field: number, value: number): void {
    Atomics.store(this.#ints, this.#byteAt(index) / 4 + field, value);
  }
}
