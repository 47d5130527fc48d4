/**
 * Remembers the first path of each file that has several names. A tree may be full of them (some package managers link
 * every file), so a file takes about 40 bytes here: its inode and the position of its path in a scratch file. The
 * scratch file lies in the folder of the snapshot in the making and is gone before that is published; a crash leaves it
 * there.
 */
import { closeSync, openSync, unlinkSync } from "node:fs";
import { writeFully } from "../../../files/durable-file.js";
import { readWhole } from "../objects/index-table.js";
import type { Seen } from "./walk.js";

export interface LinkTable {
  /** The path it was met at first, or null when that is this one. */
  firstOf(seen: Seen): string | null;
  /** Removes the scratch file. */
  finish(): void;
  abandon(): void;
}

export function createLinkTable(path: string): LinkTable {
  const devices = new Map<bigint, InodeTable>();
  let paths: PathFile | null = null;
  let isUsed = false;
  const close = (): void => {
    paths?.close();
    paths = null;
  };
  return {
    firstOf({ path: name, stats: { nlink, dev, ino } }) {
      if (nlink < 2n) return null;
      paths ??= createPathFile(path);
      isUsed = true;
      const inodes = devices.get(dev) ?? createInodeTable();
      devices.set(dev, inodes);
      const known = inodes.find(ino);
      if (known !== null) return paths.read(known);
      inodes.add(ino, paths.append(name));
      return null;
    },
    finish() {
      close();
      if (isUsed) unlinkSync(path);
    },
    abandon: close,
  };
}

interface InodeTable {
  find(ino: bigint): number | null;
  add(ino: bigint, value: number): void;
}

/** Numbers in two arrays; a slot whose value is 0 is free. */
function createInodeTable(): InodeTable {
  let inodes = new BigUint64Array(1 << 10);
  let values = new Float64Array(1 << 10);
  let count = 0;
  const slotOf = (ino: bigint): number => {
    let slot = Number(BigInt.asUintN(32, (ino * 0x9e3779b97f4a7c15n) >> 20n)) & (inodes.length - 1);
    while (values[slot] !== 0 && inodes[slot] !== ino) slot = (slot + 1) & (inodes.length - 1);
    return slot;
  };
  const put = (ino: bigint, value: number): void => {
    const slot = slotOf(ino);
    inodes[slot] = ino;
    values[slot] = value;
  };
  const grow = (): void => {
    const before = { inodes, values };
    inodes = new BigUint64Array(before.inodes.length * 2);
    values = new Float64Array(before.values.length * 2);
    for (const [slot, value] of before.values.entries()) if (value !== 0) put(before.inodes[slot] ?? 0n, value);
  };
  return {
    find(ino) {
      const value = values[slotOf(ino)] ?? 0;
      return value === 0 ? null : value - 1;
    },
    add(ino, value) {
      count += 1;
      if (count * 4 > inodes.length * 3) grow();
      put(ino, value + 1);
    },
  };
}

interface PathFile {
  /** Returns where it stands. */
  append(path: string): number;
  read(at: number): string;
  close(): void;
}

const LENGTH_BYTES = 4;
const BUFFER_BYTES = 1 << 16;

function createPathFile(file: string): PathFile {
  const fd = openSync(file, "wx+", 0o600);
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  let written = 0;
  const flush = (): void => {
    const bytes = Buffer.concat(pending);
    writeFully(fd, bytes, written);
    written += bytes.length;
    pending = [];
    pendingBytes = 0;
  };
  const bytesAt = (at: number, length: number): Buffer => {
    if (at + length > written) flush();
    const bytes = Buffer.allocUnsafe(length);
    readWhole(fd, bytes, length, at);
    return bytes;
  };
  return {
    append(path) {
      const at = written + pendingBytes;
      const text = Buffer.from(path);
      const length = Buffer.allocUnsafe(LENGTH_BYTES);
      length.writeUInt32BE(text.length);
      pending.push(length, text);
      pendingBytes += LENGTH_BYTES + text.length;
      if (pendingBytes > BUFFER_BYTES) flush();
      return at;
    },
    read: (at) => bytesAt(at + LENGTH_BYTES, bytesAt(at, LENGTH_BYTES).readUInt32BE()).toString("utf8"),
    close: () => closeSync(fd),
  };
}
