/**
 * A deliverable folder under its guard, and the protocol by which its lock changes.
 *
 * `_LOCK.json` itself is the state: the folder is locked while the file exists and free while it does not, and the file is
 * always whole. The log must have every change, so a change is announced before it is made:
 *
 *   1. enter the guard (a kernel lock; the system frees it when its process dies), settle what a crash left; in a
 *      workspace its store is asked first, see store-lock.ts
 *   2. replace state.json: the new fencing token, and the step (what `_LOCK.json` will be, what the log will say)
 *   3. change `_LOCK.json`: THE COMMIT. A new one is written to lock.new and linked into place, which fails if one is
 *      there; one that takes over is renamed over the old one, so that no process finds the folder free in between; an
 *      unlock removes it
 *   4. append the lines to the log
 *   5. replace state.json, without the step; leave the guard
 *
 * A crash before 2 leaves nothing, or a private file that the next process makes anew. A crash between 2 and 3 leaves a
 * step that was not made: the next process in the guard sees this by the content of `_LOCK.json` and drops the step; its
 * number is never used again. A crash between 3 and 5 leaves a step that was made: the next process cuts off a torn line
 * and writes the lines that are missing. Settling can be interrupted anywhere and starts again. So a lock is never taken
 * over without a line in the log, and the log has no line of a change that did not happen.
 *
 * Renewal only replaces `_LOCK.json` by one with later times, so it needs no step. Everything is synced before a call
 * returns, because a lock may outlive the machine.
 *
 * The lock that a crash leaves is an ordinary one whose holder is gone: its proof of life (a kernel lock on alive/<nonce>,
 * acquired before step 2) is free, and the next requester of the folder takes over.
 *
 * Not promised: protection from programs that write `_LOCK.json` outside this protocol. If one creates it between 1 and 3,
 * the link fails and the caller gets the answer that the folder is locked.
 *
 * protocol: deliverable step
 */
import { hash } from "node:crypto";
import { linkSync, renameSync } from "node:fs";
import { HoldfastError, isHoldfastError } from "../../base/errors.js";
import { accessError } from "../../client/deliverable/access-error.js";
import { type Content, contentOf, readBytes } from "../../client/deliverable/content.js";
import { identityOf, type Places } from "../../client/deliverable/paths.js";
import type { StoredRecord } from "../../client/deliverable/record.js";
import { createSynced, removeFile, removeQuietly, syncFolder } from "../../files/durable-file.js";
import { enterAll, type Guard, openGuard } from "../../files/guard.js";
import { fenceAt, type Instant } from "../../lock/time.js";
import { makeFolder, makeHome } from "../../platform/folder-rights.js";
import { appendixOf, highestToken, type LogLine, writeOnce } from "./log.js";
import { readState, type Step, writeState } from "./state-file.js";

/** A terminated folder has no guard any more: whoever waited for it makes a new one. */
const TRIES = 50;
/** Whoever is inside syncs several files, and a disk may take seconds for each. */
const PATIENCE_MS = 30_000;

/** Takes the guard, settles what a crash left, runs `body` and leaves. `E_NOT_FOUND`, `E_IO`, `E_STORE_UNAVAILABLE` */
export async function inRoom<T>(
  places: Places,
  clock: () => Instant,
  body: (room: Room) => T | Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    identityOf(places); // Where there is no folder none is made.
    try {
      const guard = await enter(places);
      try {
        // Only now: while the guard was awaited another folder may have taken the place of the first.
        const room = new Room(places, identityOf(places), clock());
        room.settle();
        return await body(room);
      } finally {
        guard.leave();
        guard.close();
      }
    } catch (error) {
      if (tries >= TRIES || !isHoldfastError(error, "E_IO") || error.details.path !== places.guard) throw error;
      if (error.details.errno !== "ENOENT") throw error;
    }
  }
}

async function enter(places: Places): Promise<Guard> {
  try {
    makeHome(places.holdfast);
    makeFolder(places.own);
  } catch (error) {
    throw accessError(error, "create", places.own);
  }
  const guard = openOwnGuard(places.guard);
  try {
    // mutant: deliverable-guard: await enterAll([guard], places.folder, PATIENCE_MS → if (!guard.tryEnter()) await Promise.resolve(
    await enterAll([guard], places.folder, PATIENCE_MS);
    return guard;
  } catch (error) {
    guard.close();
    throw error;
  }
}

/** Not with the folders above it: where the deliverable was moved away, nothing is made in its old place. */
function openOwnGuard(path: string): Guard {
  try {
    return openGuard(path, { makesFolder: false });
  } catch (error) {
    throw accessError(error, "write", path);
  }
}

export class Room {
  readonly places: Places;
  /** Which folder this is, whatever its name. */
  readonly folder: string;
  readonly now: Instant;
  #bytes: Buffer | null;
  #fence = 0;

  constructor(places: Places, folder: string, now: Instant) {
    this.places = places;
    this.folder = folder;
    this.now = now;
    this.#bytes = readBytes(places);
  }

  content(): Content {
    return contentOf(this.#bytes, this.folder, this.places);
  }

  /** Finishes or drops the step a crash left. Call it first. */
  settle(): void {
    const state = readState(this.places);
    const token = this.#tokenOfLock();
    this.#fence = state === null ? Math.max(token, highestToken(this.places.log)) : Math.max(state.fence, token);
    // mutant: deliverable-settle: if (state !== null && state.step !== null) this.#finish(state.step); →
    if (state !== null && state.step !== null) this.#finish(state.step);
  }

  /**
   * Returns the next fencing token: one more than the last, or the time in microseconds if that is higher, as after an older
   * copy of the folder took its place. It is on the disk, in state.json, before the lock that has it can be seen.
   */
  mint(): number {
    this.#fence = Math.max(this.#fence + 1, fenceAt(this.now));
    return this.#fence;
  }

  /** Makes `next` the lock of the folder, or none, and tells the log. False: the log will be told by the next one. */
  change(next: StoredRecord | null, lines: readonly LogLine[]): boolean {
    const bytes = next === null ? null : encode(next);
    const step: Step = { after: fingerprint(bytes), log: this.#appendix(lines) };
    // mutant: deliverable-announce: writeState(this.places, { fence: this.#fence, step }, true); →
    writeState(this.places, { fence: this.#fence, step }, true);
    try {
      this.#put(bytes);
    } catch (error) {
      this.#takeBack(step, lines);
      throw accessError(error, bytes === null ? "remove" : "write", this.places.lock);
    }
    this.#bytes = bytes;
    try {
      this.#finish(step);
      return true;
    } catch {
      return false; // The step is made and stands in state.json.
    }
  }

  /** Replaces the lock by the same one with later times. */
  renew(next: StoredRecord): void {
    const bytes = encode(next);
    try {
      this.#writeFresh(bytes);
      renameSync(this.places.fresh, this.places.lock);
      syncFolder(this.places.folder);
    } catch (error) {
      throw accessError(error, "write", this.places.lock);
    }
    this.#bytes = bytes;
  }

  #tokenOfLock(): number {
    const content = this.content();
    return content.kind === "locked" ? content.lock.record.fencing_token : 0;
  }

  #appendix(lines: readonly LogLine[]) {
    try {
      return appendixOf(this.places.log, lines);
    } catch (error) {
      throw accessError(error, "read", this.places.log);
    }
  }

  #put(bytes: Buffer | null): void {
    const { lock, fresh, folder } = this.places;
    if (bytes === null) {
      if (this.#bytes !== null) removeFile(lock);
      syncQuietly(folder);
      return;
    }
    this.#writeFresh(bytes);
    if (this.#bytes === null) {
      link(fresh, lock);
      removeQuietly(fresh);
    } else renameSync(fresh, lock);
    syncFolder(folder);
  }

  /** Always a file of its own: what a crash left under this name may be linked as the lock that everybody sees. */
  #writeFresh(bytes: Buffer): void {
    removeFile(this.places.fresh);
    createSynced(this.places.fresh, bytes, 0o644);
  }

  /**
   * The caller will hear of an error, so nothing may be left that looks like success: a lock that can be seen already,
   * and could not be synced, is unlocked again, and the log says both.
   */
  #takeBack(step: Step, lines: readonly LogLine[]): void {
    try {
      this.#bytes = readBytes(this.places);
      this.#finish(step);
      const last = lines.at(-1);
      if (step.after === null || fingerprint(this.#bytes) !== step.after || last === undefined) return;
      this.change(null, [{ ...last, action: "unlocked" }]);
    } catch {
      // It is left to whoever comes next, who finds the step and compares.
    }
  }

  /** The log is told what happened, if it did. */
  #finish(step: Step): void {
    if (fingerprint(this.#bytes) === step.after) this.#log(step);
    this.#done();
  }

  #log({ log }: Step): void {
    if (log.text === "") return;
    try {
      writeOnce(this.places.log, log);
    } catch (error) {
      throw accessError(error, "write", this.places.log);
    }
  }

  #done(): void {
    writeState(this.places, { fence: this.#fence, step: null }, false);
  }
}

/** A removal that a power cut undoes brings back the lock of somebody who is gone: nothing worse than a wait. */
function syncQuietly(folder: string): void {
  try {
    syncFolder(folder);
  } catch {
    // The folder is free all the same.
  }
}

function link(fresh: string, lock: string): void {
  try {
    linkSync(fresh, lock);
  } catch (error) {
    removeQuietly(fresh);
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    throw new HoldfastError("E_LOCK_CONFLICT", `${lock} was created by another program just now`, {
      details: { path: lock },
    });
  }
}

function encode(record: StoredRecord): Buffer {
  return Buffer.from(`${JSON.stringify(record, null, 2)}\n`);
}

function fingerprint(bytes: Buffer | null): string | null {
  return bytes === null ? null : hash("sha256", bytes, "hex");
}
