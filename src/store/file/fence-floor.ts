/**
 * Where the fences of new trees start. A counter that is new, or was lost, starts from the time in milliseconds. So that
 * this never goes below a number already used, also when a power cut took a young tree with it and the clock stands
 * still, the store keeps a floor on the disk, an hour of numbers ahead: all first blocks of new trees lie under it, and
 * after a restart new trees start above it. One synced write per hour instead of one per new tree.
 */
import { join } from "node:path";
import type { Instant } from "../../lock/time.js";
import { HoldfastError } from "../../support/errors.js";
import { enterAll, type Guard, openGuard, tryEnterAll } from "../../support/guard.js";
import { BlockFile } from "./block-file.js";

const AHEAD = 3_600_000;

interface FloorRecord {
  readonly boot_id: string;
  /** New trees of this boot start here or later. */
  readonly from: number;
  /** Every first block of this boot ends here or earlier. */
  readonly to: number;
}

export class FenceFloor {
  readonly #file: BlockFile<FloorRecord>;
  readonly #guard: Guard;

  constructor(root: string) {
    this.#file = new BlockFile(join(root, "floor.json"));
    this.#guard = openGuard(join(root, "floor.guard"));
  }

  /** The start of a block of `size` numbers that lies under the floor on the disk. */
  startOfNewTree(now: Instant, size: number): number {
    const known = this.#file.read();
    const start = startFrom(known, now);
    if (known !== null && known.boot_id === now.bootId && start + size <= known.to) return start;
    return this.#raise(now, size);
  }

  #raise(now: Instant, size: number): number {
    if (!tryEnterAll([this.#guard]))
      throw new HoldfastError("E_STORE_UNAVAILABLE", "another process is raising the fence floor of this store");
    try {
      const known = this.#file.read();
      const from = known === null ? Math.floor(now.wallMs) : known.boot_id === now.bootId ? known.from : known.to;
      const start = Math.max(from, Math.floor(now.wallMs));
      this.#file.write({ boot_id: now.bootId, from, to: start + size + AHEAD }, true);
      return start;
    } finally {
      this.#guard.leave();
    }
  }

  /** Done once when the store is opened, so that a step seldom has to. */
  async prepare(now: Instant, size: number): Promise<void> {
    const known = this.#file.read();
    if (known !== null && known.boot_id === now.bootId && startFrom(known, now) + size <= known.to) return;
    await enterAll([this.#guard], this.#file.path);
    this.#guard.leave();
    this.startOfNewTree(now, size);
  }

  close(): void {
    this.#file.close();
    this.#guard.close();
  }
}

function startFrom(known: FloorRecord | null, now: Instant): number {
  return Math.max(known?.from ?? 0, Math.floor(now.wallMs));
}
