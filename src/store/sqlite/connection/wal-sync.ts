/**
 * Waits until commits that were made without a sync are on the disk.
 *
 * All commits stand in the WAL, in order, so one sync of that file covers them: if a later commit is there after a power
 * cut, the earlier ones are too. Pages that a checkpoint has moved to the database file by then were synced by the
 * checkpoint. Only the data is synced, since SQLite's own sync of the same file also waits for the file system's journal.
 * SQLite takes no locks on the WAL, so opening and closing the file here ends no lock.
 *
 * Other processes see such a commit before it is on the disk. So this is for changes whose loss, with everything after it,
 * the next process repairs after the power cut.
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
