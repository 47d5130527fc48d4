/**
 * Mints fencing tokens. Ordinary commits may be lost in a power cut, always from the end; so numbers are reserved in
 * blocks, by a commit that is on the disk before the first of them is used, and after a restart counting continues
 * behind the block. All processes share it: the row of the tree has the last number used and the last one reserved.
 *
 * The first block of a tree begins at the time in microseconds, and so does the next one after a restart, or after the file
 * was found to be a copy (open.ts), unless the reserved numbers are higher: above all that was given out and lost, since
 * no tree has a million grants a second. A wall clock that was set back since then is not noticed.
 */
import { type Key, MAX_KEYS } from "../../../lock/key.js";
import { fenceAt, type Instant } from "../../../lock/time.js";
import type { Boots } from "./boots.js";
import type { Tree } from "./tree.js";
import type { Trees } from "./trees.js";

/** Numbers reserved by one synced commit, and on top as many as a request may need. */
const BLOCK = 1_000 + MAX_KEYS;

/** Thrown inside a step that needs more numbers than are reserved: reserve, then run it again. */
export class OutOfNumbers {
  readonly tree: Key;
  readonly above: number;
  constructor(tree: Key, above: number) {
    this.tree = tree;
    this.above = above;
  }
}

export class Fences {
  readonly #trees: Trees;
  readonly #boots: Boots;
  /** The last number that this process reserved, by tree: in an unknown boot, those alone are surely of it. */
  readonly #reserved = new Map<Key, number>();

  constructor(trees: Trees, boots: Boots) {
    this.#trees = trees;
    this.#boots = boots;
  }

  mint(name: Key, now: Instant, above: number): number {
    const found = this.#trees.at(name);
    if (found.fence >= found.reserved || found.reserved <= above || !this.#isOfThisBoot(found, name, now))
      throw new OutOfNumbers(name, above);
    const tree = this.#trees.change(name);
    tree.fence = Math.max(tree.fence, above) + 1;
    return tree.fence;
  }

  /** A step of its own, and synced. It comes on top of what is left: a step may need more than a block. */
  reserve({ tree: name, above }: OutOfNumbers, now: Instant): void {
    const tree = this.#trees.change(name);
    // mutant: fence-reservation-sqlite: Math.max(tree.fence, tree.reserved, fenceAt(now)) → tree.reserved - BLOCK
    if (!this.#isOfThisBoot(tree, name, now)) tree.fence = Math.max(tree.fence, tree.reserved, fenceAt(now));
    tree.fence = Math.max(tree.fence, above);
    tree.reserved = Math.max(tree.fence, tree.reserved) + BLOCK;
    // An unknown boot leaves a known one on record, for which nothing has changed.
    if (now.bootId !== "" || tree.boot === 0) tree.boot = this.#boots.numberOf(now);
    this.#trees.writeReservation(tree);
    this.#reserved.set(name, tree.reserved);
  }

  /** A reservation that was rolled back is above the one on record. */
  #isOfThisBoot({ boot, reserved }: Tree, name: Key, now: Instant): boolean {
    if (now.bootId !== "") return boot === this.#boots.numberOf(now);
    // mutant: sqlite-unknown-boot-fence: ?? Number.POSITIVE_INFINITY → ?? 0
    return (this.#reserved.get(name) ?? Number.POSITIVE_INFINITY) <= reserved;
  }
}
