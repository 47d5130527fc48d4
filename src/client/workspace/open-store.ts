/**
 * Opens the store of a workspace, and records it when it is the first: from then on every participant opens this store or
 * is refused.
 *
 * A store that is named is compared with the recorded one by URL, and by id when the URLs differ; the comparison creates
 * nothing. The environment and the configuration may name the recorded store only. An argument may name another one: then
 * the caller works outside of the workspace, and keys of its files are refused.
 *
 * Several workspaces may record one store. It keeps the id of the first one, and tells each other that it is not: the keys
 * of its files then contain its id.
 *
 * A crash after the store was made and before it was recorded leaves a store without a record; the next opener finds the
 * same place and records it.
 */
import { join } from "node:path";
import { HoldfastError, isHoldfastError } from "../../base/errors.js";
import { HOME } from "../../base/home-folder.js";
import { lostStore } from "../../base/lost-store.js";
import { withoutPassword } from "../../base/without-password.js";
import type { Settings } from "../../lock/settings.js";
import type { Clock } from "../../platform/clock.js";
import type { Store } from "../../store/contract.js";
import { identifyStore, openStore, openStoreForReading } from "../../store/open.js";
import { assertMayBeMade, assertShared, type FoundWorkspace, type Source } from "./find-workspace.js";
import { makeHome } from "./make-workspace.js";
import { createRecord, recordFirst, type WorkspaceRecord } from "./workspace-record.js";

/** Whose files an instance may lock. */
export type Files =
  | { readonly kind: "workspace"; readonly root: string; readonly id: string; readonly isFirst: boolean }
  /** The store is not the workspace's own. */
  | { readonly kind: "foreign"; readonly root: string; readonly where: string }
  | { readonly kind: "none" };

export interface OpenedStore {
  readonly store: Store;
  readonly files: Files;
  /** The folder that this opening made a workspace, or null. */
  readonly madeIn: string | null;
}

/** Throws `E_CONFIG`, `E_STORE_CORRUPT` when the recorded store is lost, and what the opening of the store throws. */
export async function openStoreOf(
  found: FoundWorkspace,
  stated: Partial<Settings>,
  clock: Clock,
  how: WorkspaceRecord["made"] = "in_passing",
): Promise<OpenedStore> {
  const { root, record, store: url } = found;
  const isNamed = found.sources.store === "argument";
  if (!isNamed) assertShared(found);
  if (root === null || (isNamed && url.startsWith("memory:"))) {
    const files: Files = root === null ? { kind: "none" } : { kind: "foreign", root, where: ownStoreOf(found) };
    return { store: await openStore(url, stated, clock, found.expectedId), files, madeIn: null };
  }
  if (record !== null) return openRecorded(found, root, record, stated, clock);
  // A configuration says by itself that the folder is meant to be a workspace.
  // mutant: made-by-configuration: found.isThere && how === "in_passing" ? "init" : how; → how;
  const made = found.isThere && how === "in_passing" ? "init" : how;
  if (made === "in_passing") assertMayBeMade(found);
  makeHome(root);
  const store = await openStore(url, stated, clock);
  try {
    const { record: recorded, isNew } = createRecord(root, {
      made,
      store: { id: store.id, url: withoutPassword(url), isFirst: null },
    });
    // mutant: first-record-wins: if (recorded.store.id !== store.id) throw → if (recorded.store.id === "") throw
    if (recorded.store.id !== store.id) throw otherStore(found, root, recorded);
    const settled = await settleFirst(root, recorded, store);
    return { store, files: filesOf(root, settled), madeIn: found.isThere || !isNew ? null : root };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Opens the store of a workspace for reading only; null when it has none yet. Creates nothing. Throws as `openStoreOf`. */
export async function openStoreToRead(
  found: FoundWorkspace,
  stated: Partial<Settings>,
  clock: Clock,
): Promise<{ readonly store: Store; readonly files: Files } | null> {
  const { root, record, store: url } = found;
  const store = await openStoreForReading(url, stated, clock);
  if (root === null || record === null) return store === null ? null : { store, files: { kind: "none" } };
  if (store?.id === record.store.id) return { store, files: filesOf(root, record) };
  await store?.close();
  const isRecorded = withoutPassword(url) === record.store.url;
  if (isRecorded)
    throw lostStore(record.store.url, store === null ? "missing" : "replaced", record.store.id, store?.id);
  // mutant: other-store-read: if (found.sources.store !== "argument") throw → if (url === "") throw
  if (found.sources.store !== "argument") throw otherStore(found, root, record);
  const other = await openStoreForReading(url, stated, clock);
  return other === null ? null : { store: other, files: { kind: "foreign", root, where: record.store.url } };
}

async function openRecorded(
  found: FoundWorkspace,
  root: string,
  record: WorkspaceRecord,
  stated: Partial<Settings>,
  clock: Clock,
): Promise<OpenedStore> {
  const { store: url, sources } = found;
  // mutant: store-by-id: (await identifyStore(url)) === record.store.id; → url === record.store.id;
  const isRecorded = withoutPassword(url) === record.store.url || (await identifyStore(url)) === record.store.id;
  if (isRecorded) {
    // mutant: open-expects: clock, record.store.id) → clock)
    const store = await openStore(url, stated, clock, record.store.id).catch((error: unknown) => {
      throw outOfReach(error, found, root);
    });
    try {
      return { store, files: filesOf(root, await settleFirst(root, record, store)), madeIn: null };
    } catch (error) {
      await store.close();
      throw error;
    }
  }
  // mutant: other-store-named: if (sources.store !== "argument") throw → if (url === "") throw
  if (sources.store !== "argument") throw otherStore(found, root, record);
  const files: Files = { kind: "foreign", root, where: record.store.url };
  return { store: await openStore(url, stated, clock), files, madeIn: null };
}

/** Asks the store, once in the life of a record, whether this workspace is its first. */
async function settleFirst(root: string, record: WorkspaceRecord, store: Store): Promise<WorkspaceRecord> {
  // mutant: first-asked: if (record.store.isFirst !== null) return record; → if (record.id !== "") return record;
  if (record.store.isFirst !== null) return record;
  const isFirst = (await store.adoptWorkspace(record.id)) === record.id;
  recordFirst(root, record, isFirst);
  return { ...record, store: { ...record.store, isFirst } };
}

function filesOf(root: string, { id, store }: WorkspaceRecord): Files {
  return { kind: "workspace", root, id, isFirst: store.isFirst !== false };
}

/** A sandbox may let a process write its worktree only, and the store lies in the main one. */
function outOfReach(error: unknown, { worktree }: FoundWorkspace, root: string): unknown {
  // mutant: sandbox-of-worktree: worktree === null || → worktree?.top !== "" ||
  if (worktree === null || !isHoldfastError(error, "E_IO")) return error;
  if (!["EROFS", "EACCES", "EPERM"].includes(String(error.details.errno))) return error;
  const folder = join(root, HOME);
  return new HoldfastError("E_IO", `${error.message}; the worktree ${worktree.top} uses the store in ${folder}`, {
    cause: error,
    details: { ...error.details, folder },
    next: [`Let this process write ${folder}; in Codex, list it in writable_roots of [sandbox_workspace_write].`],
  });
}

function ownStoreOf({ record, root }: FoundWorkspace): string {
  return record?.store.url ?? `the store of ${root}`;
}

const NAMED_BY: Readonly<Partial<Record<Source, string>>> = {
  argument: "the argument",
  environment: "HOLDFAST_STORE",
  config: "holdfast.config.json",
};

function otherStore({ where, sources }: FoundWorkspace, root: string, record: WorkspaceRecord): HoldfastError {
  return new HoldfastError(
    "E_CONFIG",
    `${NAMED_BY[sources.store] ?? "the default"} names the store ${where}, and the workspace ${root} uses ${record.store.url}`,
    {
      reason: "other_store",
      details: { field: "store", root, named: where, recorded: record.store.url },
      next: [
        `Use the recorded store: remove the other name.`,
        `Or move the workspace while nothing is held: holdfast init --root ${root} --store ${where}`,
      ],
    },
  );
}
