/**
 * The record of a workspace, `.holdfast/workspace.json`: who made it, its own id, and the store that it uses. All
 * participants read it, so that none invents another store.
 *
 * The first opener creates the record with the store already in it, in one step: a private file is written and synced, then
 * linked to its name. So two openers with different stores cannot both record theirs, and no reader sees half a record. A
 * crash before the link leaves `.holdfast/` without a record, which is not a workspace, and a private file,
 * which may be removed; the next opener does the same again. `holdfast init` replaces a record by a rename.
 *
 * Then the opener asks the store which workspace is its first, by the id that is on record, and replaces the record by one
 * that has the answer. A crash before leaves a record that says null: each opener that reads it asks, and gets the same
 * answer, because the id is the same.
 *
 * A store inside the workspace is recorded relative to its root, so a folder that was moved stays the same workspace.
 */
import { randomBytes } from "node:crypto";
import { linkSync, renameSync } from "node:fs";
import { dirname, isAbsolute, join, relative, resolve } from "node:path";
import { HoldfastError, ioError } from "../../base/errors.js";
import { HOME } from "../../base/home-folder.js";
import { isObject } from "../../base/is-object.js";
import { lostStore } from "../../base/lost-store.js";
import { withoutPassword } from "../../base/without-password.js";
import { placeSynced, removeFile, syncFolder } from "../../files/durable-file.js";
import { textIfThere } from "../../files/if-there.js";
import { createShortMemory } from "./short-memory.js";

const RECORD_FILE = "workspace.json";
const SCHEMA_VERSION = 1;

export interface WorkspaceRecord {
  /** Names the workspace among those that share a store. */
  readonly id: string;
  /** `nested`: made on purpose inside another one. `in_passing`: a command or program made it because there was none. */
  readonly made: "init" | "nested" | "in_passing";
  readonly store: RecordedStore;
}

export interface RecordedStore {
  readonly id: string;
  /** Absolute, and without a password. */
  readonly url: string;
  /** False for a further workspace of a store: its files have keys of their own. Null until the store has been asked. */
  readonly isFirst: boolean | null;
}

export function recordPath(root: string): string {
  return join(root, HOME, RECORD_FILE);
}

/** Returns the record of a workspace, or null when it has none. Throws `E_CONFIG` for a file that is not a record, `E_IO`. */
export function readRecord(root: string): WorkspaceRecord | null {
  const path = recordPath(root);
  const text = textIfThere(path);
  return text === null ? null : decode(text, root, path);
}

const memory = createShortMemory<WorkspaceRecord | null>();

/** Returns the record from what was seen within the last second. */
export function recentRecord(root: string): WorkspaceRecord | null {
  return memory.recall(root, () => readRecord(root));
}

/** Creates the record, or returns the one that another process created first. */
export function createRecord(
  root: string,
  record: Omit<WorkspaceRecord, "id">,
): { readonly record: WorkspaceRecord; readonly isNew: boolean } {
  memory.clear();
  const path = recordPath(root);
  const whole = { ...record, id: newWorkspaceId() };
  try {
    placeSynced(path, encode(root, whole), linkSync);
    return { record: whole, isNew: true };
  } catch (error) {
    const first = (error as NodeJS.ErrnoException).code === "EEXIST" ? readRecord(root) : null;
    if (first !== null) return { record: first, isNew: false };
    throw ioError(error, "create", path);
  }
}

/** Replaces the record: `holdfast init` alone may do so, while nothing is held. */
export function replaceRecord(root: string, record: WorkspaceRecord): void {
  memory.clear();
  const path = recordPath(root);
  try {
    placeSynced(path, encode(root, record), renameSync);
  } catch (error) {
    throw ioError(error, "replace", path);
  }
}

/** Keeps what the store said, in the record that asked for it. */
export function recordFirst(root: string, asked: WorkspaceRecord, isFirst: boolean): void {
  memory.clear();
  const now = readRecord(root);
  if (now?.store.id !== asked.store.id || now.store.isFirst !== null) return;
  replaceRecord(root, { ...now, store: { ...now.store, isFirst } });
}

/** Removes the record, when its store was removed on purpose: the next opener records a new one. */
export function removeRecord(root: string): void {
  removeFile(recordPath(root));
  syncFolder(dirname(recordPath(root)));
}

/** Throws the error of a lost store when the record of the workspace names another store than this one. */
export function assertRecorded(root: string, store: { readonly id: string; readonly url: string }): void {
  const record = readRecord(root);
  // mutant: record-watch: record.store.id !== store.id) throw → record.store.id === "") throw
  if (record !== null && record.store.id !== store.id) throw lostStore(withoutPassword(store.url), "moved");
}

function newWorkspaceId(): string {
  return randomBytes(5).toString("hex");
}

function encode(root: string, { id, made, store }: WorkspaceRecord): Buffer {
  const kept = { id: store.id, url: relativeTo(root, store.url), first: store.isFirst };
  return Buffer.from(`${JSON.stringify({ schema_version: SCHEMA_VERSION, id, made, store: kept })}\n`);
}

function decode(text: string, root: string, path: string): WorkspaceRecord {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw damaged(path, "it is not valid JSON");
  }
  if (!isObject(value)) throw damaged(path, "it is not a JSON object");
  const { schema_version: version, id, made, store } = value as Record<string, unknown>;
  if (typeof version === "number" && version > SCHEMA_VERSION)
    throw new HoldfastError(
      "E_FORMAT_UNSUPPORTED",
      `${path} has schema version ${version}; this version of holdfast knows ${SCHEMA_VERSION}`,
    );
  const kept = (isObject(store) ? store : {}) as Record<string, unknown>;
  if (
    typeof id !== "string" ||
    (made !== "init" && made !== "nested" && made !== "in_passing") ||
    typeof kept.id !== "string" ||
    typeof kept.url !== "string"
  )
    throw damaged(path, "a field is missing");
  return {
    id,
    made,
    store: {
      id: kept.id,
      url: absoluteFrom(root, kept.url),
      isFirst: typeof kept.first === "boolean" ? kept.first : null,
    },
  };
}

function damaged(path: string, why: string): HoldfastError {
  return new HoldfastError("E_CONFIG", `${path} is not the record of a workspace: ${why}`, {
    reason: "invalid_file",
    details: { path },
    next: ["Restore the file from a backup, or remove it and run holdfast init to choose the store again."],
  });
}

function relativeTo(root: string, url: string): string {
  const [, scheme, path] = /^(sqlite|file):(.+)$/s.exec(url) ?? [];
  if (scheme === undefined || path === undefined) return withoutPassword(url);
  const below = relative(root, path);
  return below === "" || below.startsWith("..") || isAbsolute(below) ? url : `${scheme}:${below}`;
}

/** Returns the URL with its path made absolute: relative ones start at the root. */
export function absoluteFrom(root: string, url: string): string {
  const [, scheme, path = ""] = /^(sqlite|file):(.+)$/s.exec(url) ?? [];
  return scheme === undefined || isAbsolute(path) ? url : `${scheme}:${resolve(root, path)}`;
}
