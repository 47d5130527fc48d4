/**
 * A proof of life that a command inherits: it lasts while the process that made it lives, or the command, or anything
 * the command started, however each of them ends. No process has to be notified: an open descriptor is enough, and
 * programs hand it on to what they start without knowing of it.
 *
 * It is one file with two locks on it, each kept by an open description of its own:
 *
 *   byte 0   the maker's. Its descriptor is closed on exec, so no child ever has it.
 *   byte 1   the inheritors'. The maker gives this descriptor to the command and then closes its own copy.
 *
 * Others try the whole file, as with any proof of life: it is free when both are. The maker tries byte 1 alone, and so
 * knows whether an inheritor is left while it still holds byte 0 itself: there is no moment without proof in between.
 *
 * For processes that close what they inherit, the file also names the command: see command-mark.ts.
 *
 * A maker that is killed before the command was started loses both locks. One that is killed later leaves byte 1 to the
 * inheritors.
 */
import { closeSync, openSync, writeSync } from "node:fs";
import { ioError } from "../../base/errors.js";
import { tryLockByte } from "../kernel-lock.js";
import { MARK_AT, markOf } from "./command-mark.js";
import { openProofOfLife, type ProofOfLife } from "./proof-of-life.js";

const MAKER = 0;
const HEIRS = 1;

export interface InheritableProof extends ProofOfLife {
  /** To be given to the command, and to nobody else. */
  readonly descriptor: number;
  /** This command has it now. Closes the maker's own copy: from here on only those who inherited it keep it. */
  handOver(pid: number, hasOwnGroup: boolean): void;
  /** Whether anybody who inherited it still has it. */
  isInherited(): boolean;
}

/** `E_IO`. */
export function openInheritableProof(
  dir: string,
  nonce: string,
  about: Readonly<Record<string, unknown>>,
): InheritableProof {
  const own = openProofOfLife(dir, nonce, about, (fd) => tryLockByte(fd, MAKER, { shared: false }));
  let descriptor = -1;
  try {
    descriptor = openSync(own.path, "r+");
    if (!tryLockByte(descriptor, HEIRS, { shared: false })) throw new Error("a new file was locked by someone else");
  } catch (error) {
    if (descriptor >= 0) closeSync(descriptor);
    own.close();
    throw ioError(error, "create the proof of life", own.path);
  }
  let isHandedOver = false;
  const letGo = (): void => {
    if (!isHandedOver) closeSync(descriptor);
    isHandedOver = true;
  };
  return {
    ...own,
    descriptor,
    handOver(pid, hasOwnGroup) {
      writeSync(descriptor, markOf(pid, hasOwnGroup), MARK_AT);
      letGo();
    },
    isInherited: () => !isHandedOver || isLocked(own.path),
    close(keepsFile) {
      letGo();
      own.close(keepsFile);
    },
  };
}

/** A file that is gone tells nothing: then nobody is waited for. One that cannot be opened now may be locked. */
function isLocked(path: string): boolean {
  let fd: number;
  try {
    fd = openSync(path, "r");
  } catch (error) {
    // mutant: heirs-unseen: code !== "ENOENT" → code === "EIO"
    return (error as NodeJS.ErrnoException).code !== "ENOENT";
  }
  try {
    return !tryLockByte(fd, HEIRS, { shared: true });
  } finally {
    closeSync(fd);
  }
}
