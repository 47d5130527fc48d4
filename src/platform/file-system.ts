/**
 * Checks whether a folder may carry a store: everything rests on kernel locks, exclusive create and atomic rename, and
 * on one kernel that serves all processes. Two checks, in this order:
 *
 * 1. `assertLocalFileSystem` refuses by type what other kernels write to as well. No probe could find that out: on NFS
 *    or a folder shared with a virtual machine's host, every probe of one process may well succeed.
 * 2. `probeFileSystem` tries on the folder itself what the store will rely on, so a file system of any unlisted type
 *    (FUSE has many) is judged by what it does.
 *
 * Not promised: the type is known on Linux only (Node reports no usable type elsewhere), so on other systems a network
 * folder passes the first check. The behavior of a file system after a power cut is not probed.
 */
import { randomUUID } from "node:crypto";
import {
  closeSync,
  linkSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { HoldfastError, ioError } from "../base/errors.js";
import { tryLockExclusive, unlock } from "./kernel-lock.js";

/** Types, as the kernel names them, whose files other kernels can change behind the back of this one's locks. */
const SHARED_TYPES: ReadonlySet<string> = new Set([
  // network
  ...["nfs", "nfs4", "cifs", "smb2", "smb3", "smbfs", "afs", "ncpfs", "fuse.sshfs", "fuse.rclone", "fuse.s3fs"],
  // clusters
  ...["ceph", "fuse.ceph", "glusterfs", "fuse.glusterfs", "lustre", "beegfs", "gpfs", "ocfs2", "gfs2"],
  // the host of a virtual machine or of Docker Desktop
  ...["9p", "virtiofs", "vboxsf", "prl_fs", "vmhgfs", "fuse.vmhgfs-fuse", "fuse.grpcfuse", "fuse.osxfs", "fakeowner"],
]);

const INSTEAD = [
  "Put the store on a local disk of this machine with the root or store option.",
  "For several machines, use a central store: postgres://…",
];

export interface FileSystemFacts {
  readonly type: string;
  readonly mountPoint: string;
}

/**
 * Which mount a real path lies on, by the text of /proc/self/mountinfo: the longest mount point that leads to it, and
 * of several at one point the last, which covers the others. `undefined` when none does.
 */
export function fileSystemOf(path: string, mountinfoText: string): FileSystemFacts | undefined {
  let found: FileSystemFacts | undefined;
  for (const line of mountinfoText.split("\n")) {
    // "36 35 98:0 /root /mount/point rw,noatime shared:1 - ext4 /dev/sda1 rw"; before the lone dash any number of tags.
    const fields = line.split(" ");
    const mountPoint = decodeOctal(fields[4] ?? "");
    const dash = fields.indexOf("-", 6);
    const type = dash < 0 ? undefined : fields[dash + 1];
    if (!mountPoint.startsWith("/") || type === undefined) continue;
    const leadsThere = path === mountPoint || path.startsWith(mountPoint === "/" ? "/" : `${mountPoint}/`);
    if (leadsThere && mountPoint.length >= (found?.mountPoint.length ?? 0)) found = { type, mountPoint };
  }
  return found;
}

/** Throws `E_CONFIG` when `dir` is on a file system that other machines or the host share, `E_IO` when it is unreadable. */
export function assertLocalFileSystem(dir: string): void {
  let path: string;
  try {
    path = realpathSync.native(dir);
  } catch (error) {
    throw ioError(error, "resolve", dir);
  }
  const found = fileSystemOf(path, mountinfo());
  if (found === undefined || !SHARED_TYPES.has(found.type)) return;
  throw new HoldfastError(
    "E_CONFIG",
    `${dir} is on a ${found.type} file system mounted at ${found.mountPoint}, which other machines can write to: ` +
      "locks do not hold there",
    {
      reason: "unsupported_file_system",
      details: { path, fs_type: found.type, mount_point: found.mountPoint },
      next: INSTEAD,
    },
  );
}

/** Empty where there is none (not Linux, or no /proc in a sandbox): then the probes alone decide. */
function mountinfo(): string {
  try {
    return readFileSync("/proc/self/mountinfo", "utf8");
  } catch {
    return "";
  }
}

/** Blanks, tabs, line ends and backslashes in a mount point are written as three octal digits. */
function decodeOctal(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}

/** These tell about the moment, not about what the file system can do. */
const PASSING_ERRNOS: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT", "EIO", "EMFILE", "ENFILE", "ENOENT"]);

const PROBE = ".holdfast-probe-";
/** Longer than a probe takes. */
const STALE_MS = 60_000;

/** Removes what probes left that were killed. */
export function sweepProbes(dir: string): void {
  for (const name of readdirSync(dir)) {
    const path = join(dir, name);
    if (!name.startsWith(PROBE)) continue;
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat !== undefined && Date.now() - stat.mtimeMs > STALE_MS) removeQuietly(path);
  }
}

/**
 * Tries in `dir`, under names nobody else uses, all that a store needs of its file system, and leaves nothing behind.
 * Throws `E_CONFIG` naming the probe that failed, `E_IO` when nothing can be created in `dir` at all.
 */
export function probeFileSystem(dir: string): void {
  const base = join(dir, `${PROBE}${process.pid}-${randomUUID()}`);
  const [file, link, fresh] = [`${base}.file`, `${base}.link`, `${base}.fresh`] as const;
  const descriptors: number[] = [];
  const open = (path: string, flags: string): number => {
    const fd = openSync(path, flags, 0o600);
    descriptors.push(fd);
    return fd;
  };
  try {
    const first = createFirst(() => open(file, "wx+"), dir);
    check(dir, "exclusive create", () => refusesExisting(() => open(file, "wx")));
    check(dir, "write in place", () => {
      writeSync(first, "old old", 0);
      writeSync(first, "new", 4);
      return readFileSync(file, "utf8") === "old new";
    });
    check(dir, "kernel lock", () => {
      const second = open(file, "r+");
      if (!tryLockExclusive(first) || tryLockExclusive(second)) return false;
      unlock(first);
      return tryLockExclusive(second);
    });
    check(dir, "hard link", () => {
      linkSync(file, link);
      return statSync(link).ino === statSync(file).ino && refusesExisting(() => linkSync(file, link));
    });
    check(dir, "rename over a file", () => {
      writeFileSync(fresh, "fresh", { flag: "wx", mode: 0o600 });
      renameSync(fresh, link);
      return readFileSync(link, "utf8") === "fresh" && readFileSync(file, "utf8") === "old new";
    });
    check(dir, "remove", () => {
      for (const path of [file, link]) rmSync(path);
      return statSync(file, { throwIfNoEntry: false }) === undefined;
    });
  } finally {
    for (const fd of descriptors) closeSync(fd);
    for (const path of [file, link, fresh]) removeQuietly(path);
  }
}

function createFirst(create: () => number, dir: string): number {
  try {
    return create();
  } catch (error) {
    throw ioError(error, "create a file in", dir);
  }
}

function check(dir: string, probe: string, works: () => boolean): void {
  let errno = "wrong result";
  let cause: unknown;
  try {
    if (works()) return;
  } catch (error) {
    errno = errnoOf(error) ?? "unknown";
    if (PASSING_ERRNOS.has(errno)) throw ioError(error, `probe (${probe}) the file system of`, dir);
    cause = error;
  }
  throw new HoldfastError("E_CONFIG", `the file system of ${dir} fails the probe "${probe}": ${errno}`, {
    reason: "unsupported_file_system",
    cause,
    details: { path: dir, probe, errno },
    next: INSTEAD,
  });
}

/** Returns whether a creation fails because the name exists. */
export function refusesExisting(create: () => unknown): boolean {
  try {
    create();
    return false;
  } catch (error) {
    if (errnoOf(error) === "EEXIST") return true;
    throw error;
  }
}

/** The failure that brought us here is the one to report, not that of the cleaning. */
function removeQuietly(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {}
}

function errnoOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | undefined)?.code;
}
