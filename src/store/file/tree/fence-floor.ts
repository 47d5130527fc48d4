/**
 * The floor of the fences of a file store, in floor.json. A counter that is new, or was lost, starts from the time in
 * microseconds. It must never start below a number already used, also when a power cut lost a new tree and the clock
 * stands still. So the store keeps a floor on the disk, a minute of numbers ahead: all first blocks of new trees lie below
 * it, and after a reboot new trees start above it. This costs one synced write per minute in which trees are made, instead
 * of one per new tree.
 *
 * The floor also records which folder it lies beside. In a folder that was copied or restored the original may have given
 * out more numbers since: so every tree with a number below `since`, the time at which that was noticed, begins a new block
 * above it. A process looks once, with its first number. It does not notice files that were written over in place.
 *
 * A crash leaves the old floor or the new one, and the next process raises it again.
 */
import { join } from "node:path";
import { isSameBoot } from "../../../base/boot.js";
import { HoldfastError } from "../../../base/errors.js";
import { lostStore } from "../../../base/lost-store.js";
import { type Guard, openGuard } from "../../../files/guard.js";
import { NamedFile } from "../../../files/named-file.js";
import { fenceAt, type Instant } from "../../../lock/time.js";
import { BlockFile } from "./block-file.js";

const AHEAD = 60_000_000;
const RAISE_TRIES = 500;
const RAISE_PAUSE_MS = 2;

interface FloorRecord {
  readonly boot_id: string;
  /** New trees of this boot start here or later. */
  readonly from: number;
  /** Every first block of this boot ends here or earlier. */
  readonly to: number;
  /** The folder of the trees, as `NamedFile` identifies it. */
  readonly folder: string;
  /** A tree with a lower number begins a block here or later. */
  readonly since: number;
}

export class FenceFloor {
  readonly #file: BlockFile<FloorRecord>;
  readonly #guard: Guard;
  readonly #locks: string;
  /** By this process, so that the record is of this boot, known or not. */
  #isRaised = false;
  #since: number | null = null;

  constructor(root: string) {
    this.#file = new BlockFile(join(root, "floor.json"));
    this.#guard = openGuard(join(root, "floor.guard"));
    this.#locks = join(root, "locks");
  }

  /** `E_STORE_CORRUPT`: a number made of what is no number would spoil the tree that begins with it. */
  #read(): FloorRecord | null {
    const known = this.#file.read();
    if (known === null || [known.from, known.to, known.since].every(Number.isSafeInteger)) return known;
    const { path } = this.#file;
    throw new HoldfastError("E_STORE_CORRUPT", `${path} makes no sense`, { details: { path } });
  }

  /** Returns the number below which no tree goes on in its block. */
  since(now: Instant): number {
    this.#since ??= this.#lookUpSince(now);
    return this.#since;
  }

  #lookUpSince(now: Instant): number {
    const known = this.#read();
    if (known?.folder === this.#folder()) return known.since;
    return this.#guarded(() => this.#adopt(now));
  }

  /** Where there is no floor, no tree has begun, or a person removed it. */
  #adopt(now: Instant): number {
    const known = this.#read();
    const folder = this.#folder();
    if (known?.folder === folder) return known.since;
    const since = Math.max(fenceAt(now), known?.since ?? 0);
    if (known !== null) this.#file.write({ ...known, folder, since }, true);
    return since;
  }

  #folder(): string {
    const file = NamedFile.at(this.#locks);
    if (file === null) throw lostStore(`file:${this.#locks}`, "missing");
    return file.identity;
  }

  /** The start of a block of `size` numbers that lies under the floor on the disk. */
  startOfNewTree(now: Instant, size: number): number {
    const known = this.#read();
    if (this.#isHighEnough(known, now, size)) return startUnder(known, now);
    return this.#guarded(() => this.#raise(now, size));
  }

  #guarded<T>(action: () => T): T {
    for (let tries = 0; !this.#guard.tryEnter(); tries += 1) {
      if (tries >= RAISE_TRIES)
        throw new HoldfastError("E_STORE_UNAVAILABLE", "the fence floor is being raised elsewhere", { reason: "busy" });
      pauseThread(RAISE_PAUSE_MS);
    }
    try {
      return action();
    } finally {
      this.#guard.leave();
    }
  }

  #raise(now: Instant, size: number): number {
    const known = this.#read();
    if (this.#isHighEnough(known, now, size)) return startUnder(known, now);
    // mutant: floor-on-disk: this.#isOfThisBoot(known, now) ? known.from : known.to; → known.from;
    const from = known === null ? fenceAt(now) : this.#isOfThisBoot(known, now) ? known.from : known.to;
    const start = Math.max(from, fenceAt(now));
    const { folder, since } = known ?? { folder: this.#folder(), since: 0 };
    this.#file.write({ boot_id: now.bootId, from, to: start + size + AHEAD, folder, since }, true);
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
  return Math.max(known?.from ?? 0, fenceAt(now));
}

/** Once a minute, for the millisecond another process needs: not worth giving the guard of the tree up for. */
function pauseThread(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
