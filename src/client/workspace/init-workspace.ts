/**
 * Makes a workspace on purpose: `holdfast init`. Beside what a first opening does, it turns a workspace that was made in
 * passing into one that is meant to be, begins a new store for one that was lost or emptied, and moves the workspace to another store
 * while nothing is held in the recorded one.
 *
 * The record changes in one rename. A crash before it leaves the recorded store in force, and perhaps a new store that no
 * record names. An opener that read the record just before the change may still acquire in the earlier store: the change is
 * taken back when that is seen, and otherwise its process notices within a second that the record names another store.
 */
import { existsSync, renameSync } from "node:fs";
import { HoldfastError, ioError } from "../../base/errors.js";
import { withoutPassword } from "../../base/without-password.js";
import { NamedFile } from "../../files/named-file.js";
import { isExpired } from "../../lock/profile.js";
import { createSystemClock } from "../../platform/clock.js";
import { identifyStore, openStore, openStoreForReading } from "../../store/open.js";
import { pathKey } from "../path-key.js";
import { type FoundWorkspace, storeMark } from "./find-workspace.js";
import { makeHome } from "./make-workspace.js";
import { isWorkspace, workspaceAround } from "./search.js";
import { type RecordedStore, readRecord, replaceRecord, type WorkspaceRecord } from "./workspace-record.js";

/** What `init` changed about a workspace that had a record. */
export interface RecordChange {
  /** The store that was recorded before, where it is another one now. */
  readonly before: string | null;
  readonly wasLost: boolean;
}

/** Brings the record in line with what the caller names. Returns null when nothing had to change, or no record is there. */
export async function settleRecord(found: FoundWorkspace, isNested: boolean): Promise<RecordChange | null> {
  const { root, record } = found;
  if (root === null) return null;
  if (record === null) {
    await assertNothingHeldAround(root);
    return settleEmptied(found.store);
  }
  makeHome(root);
  const wanted = found.sources.store === "record" ? record.store.url : found.store;
  const there = await idAt(wanted);
  if (there === record.store.id) return settleIntent(root, record, isNested);
  const isSameUrl = withoutPassword(wanted) === record.store.url;
  const held = isSameUrl ? [] : await heldIn(record);
  // mutant: move-while-held: if (held.length > 0) throw inUse( → if (held.length < 0) throw inUse(
  if (held.length > 0) throw inUse(root, record, held);
  if (isSameUrl && there === null) setAside(wanted);
  const chosen = await chosenStore(wanted, record.id);
  replaceRecord(root, { ...record, made: meant(record, isNested), store: chosen });
  const since = isSameUrl ? [] : await heldIn(record);
  if (since.length > 0) {
    replaceRecord(root, record);
    throw inUse(root, record, since);
  }
  return { before: record.store.url, wasLost: isSameUrl };
}

/** A store without a record that was emptied: it is set aside, and the opening that follows begins a new one. */
function settleEmptied(url: string): RecordChange | null {
  const path = storeMark(url);
  // mutant: init-emptied: if (path === null || !NamedFile.at(path)?.isEmpty) return null; → if (url !== "") return null;
  if (path === null || !NamedFile.at(path)?.isEmpty) return null;
  setAside(url);
  return { before: url, wasLost: true };
}

/** A crash between the two leaves the store with this workspace as its first; the same command asks again. */
async function chosenStore(wanted: string, workspace: string): Promise<RecordedStore> {
  const store = await openStore(wanted, {}, createSystemClock());
  try {
    const isFirst = (await store.adoptWorkspace(workspace)) === workspace;
    return { id: store.id, url: withoutPassword(wanted), isFirst };
  } finally {
    await store.close();
  }
}

/** The files of a workspace inside another one belong to it from now on, and their keys with them. */
async function assertNothingHeldAround(root: string): Promise<void> {
  const outer = isWorkspace(root) ? null : workspaceAround(root);
  const record = outer === null ? null : readRecord(outer);
  if (outer === null || record === null) return;
  const clock = createSystemClock();
  const store = await openStoreForReading(record.store.url, {}, clock);
  try {
    const { grants } = (await store?.reader.inspect(pathKey(outer, root))) ?? { grants: [] };
    const held = grants.filter((grant) => !isExpired(grant, clock())).map(({ resource }) => resource);
    // mutant: nested-while-held: if (held.length > 0) throw filesHeld( → if (held.length < 0) throw filesHeld(
    if (held.length > 0) throw filesHeld(root, outer, held);
  } finally {
    await store?.close();
  }
}

function filesHeld(root: string, outer: string, resources: readonly string[]): HoldfastError {
  return new HoldfastError("E_LOCK_CONFLICT", `${root} cannot become a workspace: its files are locked in ${outer}`, {
    details: { root, around: outer, resources: resources.slice(0, 20) },
    next: [`holdfast lock list --root ${outer}`, "Release them, then run holdfast init again."],
  });
}

function settleIntent(root: string, record: WorkspaceRecord, isNested: boolean): null {
  const made = meant(record, isNested);
  if (record.made !== made) replaceRecord(root, { ...(readRecord(root) ?? record), made });
  return null;
}

function meant(record: WorkspaceRecord, isNested: boolean): WorkspaceRecord["made"] {
  return isNested || record.made === "nested" ? "nested" : "init";
}

/** An emptied database counts as none. */
async function idAt(url: string): Promise<string | null> {
  try {
    return await identifyStore(url);
  } catch (error) {
    if (error instanceof HoldfastError && error.code === "E_STORE_CORRUPT") return null;
    throw error;
  }
}

/** Keeps what is left of a lost store beside the new one, so that it can be restored. */
function setAside(url: string): void {
  const path = storeMark(url);
  if (path === null) return;
  const mark = `lost-${new Date(createSystemClock()().wallMs).toISOString().replace(/[:.]/g, "-")}`;
  for (const suffix of ["", "-wal", "-shm", "-turn"])
    try {
      if (existsSync(path + suffix)) renameSync(path + suffix, `${path}.${mark}${suffix}`);
    } catch (error) {
      throw ioError(error, "set aside", path + suffix);
    }
}

async function heldIn({ store: { id, url } }: WorkspaceRecord): Promise<readonly string[]> {
  if ((await idAt(url)) !== id) return [];
  const clock = createSystemClock();
  const store = await openStore(url, {}, clock, id);
  try {
    const grants = await store.reader.list({ prefix: null, after: null, limit: 1_000 });
    const now = clock();
    return grants.filter((grant) => !isExpired(grant, now)).map(({ resource }) => resource);
  } finally {
    await store.close();
  }
}

function inUse(root: string, { store }: WorkspaceRecord, resources: readonly string[]): HoldfastError {
  return new HoldfastError(
    "E_LOCK_CONFLICT",
    `${root} cannot change its store: ${resources.length} locks are held in ${store.url}`,
    {
      details: { root, store: store.url, resources: resources.slice(0, 20) },
      next: ["holdfast lock list", "Release them, then run holdfast init again."],
    },
  );
}
