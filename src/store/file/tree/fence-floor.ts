/**
 * The floor of the fences of new trees. A counter that is new, or was lost, starts from the time in milliseconds. It must
 * never start below a number already used, also when a power cut lost a new tree and the clock stands still. So the store
 * keeps a floor on the disk, an hour of numbers ahead: all first blocks of new trees lie below it, and after a reboot new
 * trees start above it. This costs one synced write per hour instead of one per new tree.
 */
import { join } from "node:path";
import { isSameBoot } from "../../../base/boot.js";
import { HoldfastError } from "../../../base/errors.js";
import { type Guard, openGuard } from "../../../files/guard.js";
import type { Instant } from "../../../lock/time.js";
import { BlockFile } from "./block-file.js";

const AHEAD = 3_600_000;
const RAISE_TRIES = 500;
const RAISE_PAUSE_MS = 2;

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
  /** By this process, so that the record is of this boot, known or not. */
  #isRaised = false;

  constructor(root: string) {
    this.#file = new BlockFile(join(root, "floor.json"));
    this.#guard = openGuard(join(root, "floor.guard"));
  }

  /** `E_STORE_CORRUPT`: a number made of what is no number would spoil the tree that begins with it. */
  #read(): FloorRecord | null {
    const known = this.#file.read();
    if (known === null || (Number.isSafeInteger(known.from) && Number.isSafeInteger(known.to))) return known;
    const { path } = this.#file;
    throw new HoldfastError("E_STORE_CORRUPT", `${path} makes no sense`, { details: { path } });
  }

  /** The start of a block of `size` numbers that lies under the floor on the disk. */
  startOfNewTree(now: Instant, size: number): number {
    const known = this.#read();
    if (this.#isHighEnough(known, now, size)) return startUnder(known, now);
    for (let tries = 0; !this.#guard.tryEnter(); tries += 1) {
      if (tries >= RAISE_TRIES)
        throw new HoldfastError("E_STORE_UNAVAILABLE", "the fence floor is being raised elsewhere", { reason: "busy" });
      pauseThread(RAISE_PAUSE_MS);
    }
    try {
      return this.#raise(now, size);
    } finally {
      this.#guard.leave();
    }
  }

  #raise(now: Instant, size: number): number {
    const known = this.#read();
    if (this.#isHighEnough(known, now, size)) return startUnder(known, now);
    // mutant: floor-on-disk: this.#isOfThisBoot(known, now) ? known.from : known.to; → known.from;
    const from = known === null ? Math.floor(now.wallMs) : this.#isOfThisBoot(known, now) ? known.from : known.to;
    const start = Math.max(from, Math.floor(now.wallMs));
    this.#file.write({ boot_id: now.bootId, from, to: start + size + AHEAD }, true);
    this.#isRaised = true;
    return start;
  }

  #isHighEnough(known: FloorRecord | null, now: Instant, size: number): boolean {
    return known !== null && this.#isOfThisBoot(known, now) && startUnder(known, now) + size <= known.to;
  }

  #isOfThisBoot({ boot_id: bootId }: FloorRecord, now: Instant): boolean {
    return now.bootId === "" ? this.#isRaised : isSameBoot({ bootId }, now);
  }

  close(): void {
    this.#file.close();
    this.#guard.close();
  }
}

function startUnder(known: FloorRecord | null, now: Instant): number {
  return Math.max(known?.from ?? 0, Math.floor(now.wallMs));
}

/** Once an hour, for the millisecond another process needs: not worth giving the guard of the tree up for. */
function pauseThread(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
