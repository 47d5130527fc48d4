/** Checks what locks need of the file system alone: kernel locks, exclusive creation, rename, sync. */
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import native from "fs-native-extensions";
import { syncFolder } from "../../files/durable-file.js";
import { assertLocalFileSystem, refusesExisting } from "../../platform/file-system.js";
import { tryLockExclusive, unlock } from "../../platform/kernel-lock.js";
import { type Check, expectThat } from "./check.js";

const MOVE =
  "Keep the workspace on a local disk of this machine (ext4, xfs, btrfs, APFS, NTFS), not on a shared folder.";

export const FILE_CHECKS: readonly Check[] = [
  {
    name: "local file system",
    proves: "no other machine writes to this folder behind this one's locks",
    next: [MOVE, "For several machines use a central store: --store postgres://…"],
    try: ({ dir }) => assertLocalFileSystem(dir),
  },
  {
    name: "exclusive create",
    proves: "of several that create one file, one succeeds",
    next: [MOVE],
    try({ dir }) {
      const path = join(dir, "exclusive");
      writeFileSync(path, "", { flag: "wx" });
      expectThat(
        refusesExisting(() => writeFileSync(path, "", { flag: "wx" })),
        "a file was created twice",
      );
      rmSync(path);
    },
  },
  {
    name: "kernel lock",
    proves: "a file that is locked stays locked until it is let go",
    next: [MOVE, "In a sandbox or container, allow fcntl and flock."],
    try({ dir }) {
      const path = join(dir, "locked");
      const [one, two] = [openSync(path, "a+"), openSync(path, "a+")];
      try {
        expectThat(tryLockExclusive(one), "a free file could not be locked");
        expectThat(!tryLockExclusive(two), "a locked file was locked a second time");
        unlock(one);
        expectThat(tryLockExclusive(two), "a file that was let go stayed locked");
      } finally {
        closeSync(one);
        closeSync(two);
      }
    },
  },
  {
    name: "rename",
    proves: "a file is replaced in one step",
    next: [MOVE, "Look for a full disk (df) and for a virus scanner that keeps files open."],
    try({ dir }) {
      const [old, fresh] = [join(dir, "renamed"), join(dir, "renamed.new")];
      writeFileSync(old, "old");
      writeFileSync(fresh, "new");
      renameSync(fresh, old);
      expectThat(readFileSync(old, "utf8") === "new", "the old file is still there");
      expectThat(statSync(fresh, { throwIfNoEntry: false }) === undefined, "the new file has two names");
    },
  },
  {
    name: "exchange",
    proves: "two folders change places in one step",
    next: ["Nothing needs to be done: publish then uses two renames, with a moment in between without the target."],
    isOptional: true,
    try({ dir }) {
      const [one, two] = [join(dir, "one"), join(dir, "two")];
      for (const each of [one, two]) mkdirSync(each);
      writeFileSync(join(one, "mark"), "");
      native.swapSync(one, two);
      expectThat(statSync(join(two, "mark"), { throwIfNoEntry: false }) !== undefined, "they stayed where they were");
    },
  },
  {
    name: "fsync",
    proves: "files and names can be written through to the disk",
    next: ["Look for a failing disk (dmesg) or a full one (df). Until it works nothing survives a power cut."],
    try({ dir }) {
      const fd = openSync(join(dir, "synced"), "w");
      try {
        writeSync(fd, "synced");
        fsyncSync(fd);
      } finally {
        closeSync(fd);
      }
      syncFolder(dir);
    },
  },
];
