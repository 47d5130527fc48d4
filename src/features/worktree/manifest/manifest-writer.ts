/**
 * Writes the manifest of a snapshot as a list of pieces, each an object of its own. Where a piece ends is decided by the
 * names alone, so a change touches the pieces it lies in and all others are those of the snapshot before. The SHA-256 of
 * the list is the root hash: it covers the pieces, they cover names, modes, times and the hashes of all contents.
 */
import { createHash, hash } from "node:crypto";
import { closeSync, fsyncSync } from "node:fs";
import { writeFully } from "../../../files/durable-file.js";
import { createFile, READ_ONLY } from "../../../platform/folder-rights.js";
import { type Entry, entryLine } from "./entry.js";

/** On average this many lines make a piece, and never more than `MOST_LINES`. */
const MEAN_LINES = 64;
const MOST_LINES = 2_048;

export interface ManifestSummary {
  readonly rootHash: string;
  readonly entries: number;
  readonly bytes: number;
}

export interface ManifestWriter {
  add(entry: Entry): void;
  /** Writes and syncs the list. */
  finish(): ManifestSummary;
  abandon(): void;
}

export function createManifestWriter(path: string, store: (sha256: Buffer, content: Buffer) => void): ManifestWriter {
  const fd = createFile(path, "wx", READ_ONLY);
  const root = createHash("sha256");
  let lines: string[] = [];
  let list: string[] = [];
  let written = 0;
  let entries = 0;
  let bytes = 0;

  let isOpen = true;
  const close = (): void => {
    if (isOpen) closeSync(fd);
    isOpen = false;
  };
  const writeList = (): void => {
    const text = Buffer.from(list.join(""));
    writeFully(fd, text, written);
    root.update(text);
    written += text.length;
    list = [];
  };
  const endPiece = (): void => {
    if (lines.length === 0) return;
    const content = Buffer.from(lines.join(""));
    const sha256 = hash("sha256", content, "buffer");
    store(sha256, content);
    list.push(`${sha256.toString("hex")}\n`);
    lines = [];
    if (list.length >= 1_024) writeList();
  };

  return {
    add(entry) {
      lines.push(entryLine(entry));
      entries += 1;
      if (entry.kind === "file") bytes += entry.size;
      if (lines.length >= MOST_LINES || isBoundary(entry.path)) endPiece();
    },
    finish() {
      endPiece();
      writeList();
      fsyncSync(fd);
      close();
      return { rootHash: root.digest("hex"), entries, bytes };
    },
    abandon: close,
  };
}

/** FNV-1a over the name: the same everywhere, whatever stands around it. */
function isBoundary(path: string): boolean {
  let value = 0x811c9dc5;
  for (let at = 0; at < path.length; at += 1) value = Math.imul(value ^ path.charCodeAt(at), 0x01000193);
  return ((value ^ (value >>> 15)) >>> 0) % MEAN_LINES === 0;
}
