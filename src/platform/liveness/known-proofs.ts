/**
 * Keeps proof files of other processes open: in a queue the same few processes are checked and woken again and again,
 * and opening a file costs more than either.
 *
 * A file is kept by name and identity, so it is the one that a record meant, whatever its name refers to by now. It shows
 * that a process lives; that a process is dead is proven by name and identity, as everywhere. A proof that a command
 * inherits is opened for a moment only, because only its inheritors may keep it open.
 */
import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { tryLockShared, unlock } from "../kernel-lock.js";
import { identityOf, type ProofState, probeLife, WAKE_BYTE_AT } from "./proof-of-life.js";

const MOST_OPEN = 64;
const WAKE_BYTE = Buffer.from("\n");

export interface ProofFile {
  readonly file: string;
  readonly inherited: boolean;
}

export class KnownProofs {
  readonly #dir: string;
  /** Descriptors by name and identity, the oldest first. */
  readonly #files = new Map<string, number>();

  constructor(dir: string) {
    this.#dir = dir;
  }

  life(nonce: string, { file, inherited }: ProofFile): ProofState {
    // mutant: known-proof: .#dir, nonce, file); → .#dir, nonce, file) === "alive" ? "alive" : "dead";
    return !inherited && this.#isHeld(nonce, file) ? "alive" : probeLife(this.#dir, nonce, file);
  }

  /** False when its process cannot be told: it polls, or is gone. */
  wake(nonce: string, { file, inherited }: ProofFile): boolean {
    try {
      // mutant: wake-up: writeSync(this.#open(nonce, file), WAKE_BYTE, 0, 1, WAKE_BYTE_AT → this.#open(nonce, file
      writeSync(this.#open(nonce, file), WAKE_BYTE, 0, 1, WAKE_BYTE_AT);
      if (inherited) this.#forget(nameOf(nonce, file));
      return true;
    } catch {
      return false;
    }
  }

  close(): void {
    for (const fd of this.#files.values()) closeSync(fd);
    this.#files.clear();
  }

  #isHeld(nonce: string, identity: string): boolean {
    try {
      const fd = this.#open(nonce, identity);
      if (!tryLockShared(fd)) return true;
      unlock(fd);
    } catch {
      // Gone, or not to be opened for writing: looked at by name.
    }
    this.#forget(nameOf(nonce, identity));
    return false;
  }

  #open(nonce: string, identity: string): number {
    const name = nameOf(nonce, identity);
    const known = this.#files.get(name);
    if (known !== undefined) return known;
    const fd = openSync(join(this.#dir, nonce), "r+");
    if (identityOf(fd) !== identity) {
      closeSync(fd);
      throw new Error(`${nonce} is another file now`);
    }
    for (const oldest of this.#files.keys()) {
      if (this.#files.size < MOST_OPEN) break;
      this.#forget(oldest);
    }
    this.#files.set(name, fd);
    return fd;
  }

  #forget(name: string): void {
    const fd = this.#files.get(name);
    if (fd !== undefined) closeSync(fd);
    this.#files.delete(name);
  }
}

/** Without times of birth, files made one after the other have the same identity. */
function nameOf(nonce: string, identity: string): string {
  return `${nonce} ${identity}`;
}
