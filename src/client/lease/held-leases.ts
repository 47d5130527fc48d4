/**
 * Keeps what a Holdfast instance has to settle before it closes: requests under way, leases that it holds, and lost
 * leases whose grants may still be in the store.
 */
import type { Grant } from "../../lock/grant.js";
import type { Lease } from "./lease.js";
import { type HeldInStore, StoreWatch } from "./store-watch.js";

let allUnderWay = 0;

export class Holdings {
  /** In the order taken: given back in the reverse. */
  readonly #held = new Set<Lease>();
  /** First grants of leases that were lost and not released: some of it may be in the store still. */
  readonly #adrift = new Set<string>();
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #watch: StoreWatch;
  #moves = 0;

  constructor(assertInPlace: () => void) {
    this.#watch = new StoreWatch(assertInPlace);
  }

  /** How many requests are under way. */
  get underWay(): number {
    return this.#underWay.size;
  }

  /** How many requests of all instances of this process are under way. */
  get allUnderWay(): number {
    return allUnderWay;
  }

  /** Grows with each request, and with each lease that is used, held or let go. */
  get moves(): number {
    return this.#moves;
  }

  /** A lease is used. */
  move(): void {
    this.#moves += 1;
  }

  /** What is held, without detached grants: those outlive the process. */
  grants(): readonly Grant[] {
    return [...this.#held].flatMap((lease) => lease.held).filter((grant) => !grant.detached);
  }

  holds(lockId: string): boolean {
    for (const { held } of this.#held) if (held.some((grant) => grant.lockId === lockId)) return true;
    return false;
  }

  hold(lease: Lease): void {
    this.move();
    this.#held.add(lease);
    this.#watch.add(lease);
  }

  letGo(lease: Lease): void {
    this.move();
    this.#held.delete(lease);
    this.#watch.delete(lease);
  }

  /** Something else than a lease that is lost with the store. Dispose when it is over. */
  bind(held: HeldInStore): Disposable {
    this.#watch.add(held);
    return { [Symbol.dispose]: () => this.#watch.delete(held) };
  }

  /** Leaves no timer behind. */
  close(): void {
    this.#watch.close();
  }

  drift(lockId: string): void {
    this.#adrift.add(lockId);
  }

  /** It is released, or held anew. */
  settle(lockId: string): void {
    this.#adrift.delete(lockId);
  }

  begin(work: Promise<unknown>): void {
    this.move();
    this.#underWay.add(work);
    allUnderWay += 1;
  }

  end(work: Promise<unknown>): void {
    if (this.#underWay.delete(work)) allUnderWay -= 1;
  }

  /** Counts as under way until it is over. */
  async track<T>(work: Promise<T>): Promise<T> {
    this.begin(work);
    try {
      return await work;
    } finally {
      this.end(work);
    }
  }

  /**
   * Waits for what is under way and gives everything back. False when grants may stay in the store. One whose release was
   * refused because something nests in it is held again, and has become the newest: once more then.
   */
  async giveBack(): Promise<boolean> {
    await Promise.allSettled(this.#underWay);
    // mutant: close-once: this.#held.size < before; ) → before === Number.POSITIVE_INFINITY; )
    for (let before = Number.POSITIVE_INFINITY; this.#held.size > 0 && this.#held.size < before; ) {
      before = this.#held.size;
      for (const lease of [...this.#held].reverse()) await lease.close();
    }
    return this.#held.size + this.#adrift.size === 0;
  }
}
