/** One chain of audit entries: a file of JSON lines that only grows. The tree's own record decides where it ends. */
import { closeSync, fstatSync, fsyncSync, ftruncateSync, openSync, readSync } from "node:fs";
import { ioError } from "../../../base/errors.js";
import { isNamed, writeFully } from "../../../files/durable-file.js";
import { type FolderNames, KnownName } from "../../../files/folder-names.js";
import { openOrMake } from "../../../platform/folder-rights.js";
import { isAbsence } from "../../../platform/look-up.js";

const CHUNK = 64 * 1024;
const NEWLINE = 0x0a;

export interface AuditLine {
  readonly text: string;
  /** Where the next line begins. */
  readonly end: number;
}

export class AuditFile {
  readonly path: string;
  readonly #name: KnownName;
  #fd = -1;

  /** The names of its folder are looked at by somebody else. */
  constructor(path: string, names: FolderNames) {
    this.path = path;
    this.#name = new KnownName(names);
  }

  /** Looks again whether the path still names this file, where a name there was changed. */
  size(): number {
    return this.#coded("look at", () => {
      if (this.#fd >= 0 && !this.#name.holds && !isNamed(this.#fd, this.path)) this.close();
      const { size } = fstatSync(this.#open());
      this.#name.note();
      return size;
    });
  }

  isOlderThan(wallMs: number): boolean {
    return this.#coded("look at", () => fstatSync(this.#open()).mtimeMs < wallMs);
  }

  append(entries: Buffer, at: number): void {
    this.#coded("append to", () => writeFully(this.#open(), entries, at));
  }

  truncate(to: number): void {
    this.#coded("shorten", () => ftruncateSync(this.#open(), to));
  }

  sync(): void {
    this.#coded("sync", () => fsyncSync(this.#open()));
  }

  #coded<T>(doing: string, action: () => T): T {
    try {
      return action();
    } catch (error) {
      throw ioError(error, doing, this.path);
    }
  }

  /** Complete lines between two positions. Opens the file for itself, so that reading creates nothing. */
  static *lines(path: string, from: number, to: number): Generator<AuditLine> {
    let fd: number;
    try {
      fd = openSync(path, "r");
    } catch (error) {
      if (isAbsence(error)) return;
      throw ioError(error, "read", path);
    }
    try {
      const buffer = Buffer.allocUnsafe(CHUNK);
      let begun: Buffer[] = []; // Joined once: a damaged line may be as long as the file.
      for (let at = from; at < to; ) {
        const length = readSync(fd, buffer, 0, Math.min(CHUNK, to - at), at);
        if (length === 0) return;
        const chunk = buffer.subarray(0, length);
        let start = 0;
        for (let cut = chunk.indexOf(NEWLINE); cut >= 0; cut = chunk.indexOf(NEWLINE, start)) {
          const last = chunk.subarray(start, cut);
          const line = begun.length === 0 ? last : Buffer.concat([...begun, last]);
          yield { text: line.toString("utf8"), end: at + cut + 1 };
          begun = [];
          start = cut + 1;
        }
        begun.push(Buffer.from(chunk.subarray(start)));
        at += length;
      }
    } catch (error) {
      throw ioError(error, "read", path);
    } finally {
      closeSync(fd);
    }
  }

  close(): void {
    if (this.#fd >= 0) closeSync(this.#fd);
    this.#fd = -1;
  }

  #open(): number {
    if (this.#fd < 0) {
      try {
        this.#fd = openOrMake(this.path);
      } catch (error) {
        throw ioError(error, "open", this.path);
      }
    }
    return this.#fd;
  }
}
