/**
 * Waits until commits that were made without a sync are on the disk.
 *
 * Everything committed stands in the WAL, in order, so one sync of that file covers all of it: whoever finds a later commit
 * after a power cut finds the earlier ones too. What a checkpoint has moved on to the database file by then was synced
 * by the checkpoint. Only the data is asked for, since SQLite's own sync of the same file also waits for the file
 * system's journal. No locks are taken on the WAL, so opening and closing it by ourselves takes nobody's away.
 *
 * A commit that is waited for in this way is seen by others before it is on the disk. So it is for changes whose
 * loss, with everything after it, is repaired by whoever comes after the power cut.
 */
import { closeSync, fdatasync, fdatasyncSync, openSync, realpathSync } from "node:fs";
import { ioError } from "../../../base/errors.js";

export class WalSync {
  readonly #databasePath: string;
  #fd: number | null = null;

  constructor(databasePath: string) {
    this.#databasePath = databasePath;
  }

  /** Another thread takes its time to be woken, so it is quicker to stand still. `E_IO`: nobody knows what is on the disk. */
  async wait(standStill: boolean): Promise<void> {
    try {
      const fd = this.#open();
      if (standStill) fdatasyncSync(fd);
      else await dataOnDisk(fd);
    } catch (error) {
      throw ioError(error, "sync", this.#databasePath);
    }
  }

  #open(): number {
    this.#fd ??= openSync(`${realpathSync.native(this.#databasePath)}-wal`, "r");
    return this.#fd;
  }

  close(): void {
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = null;
  }
}

function dataOnDisk(fd: number): Promise<void> {
  return new Promise((resolve, reject) => {
    fdatasync(fd, (error) => (error ? reject(error) : resolve()));
  });
}
