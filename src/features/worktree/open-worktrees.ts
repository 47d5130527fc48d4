/** Opens worktrees (worktrees.ts): puts the parts together, and makes sure that interrupted restores are settled first. */
import { basename, dirname, join, resolve } from "node:path";
import { checkOptions } from "../../base/check-options.js";
import { type Duration, parseDuration } from "../../base/duration.js";
import { HoldfastError, invalidArgument, ioError } from "../../base/errors.js";
import { HOME } from "../../base/home-folder.js";
import type { Holdfast } from "../../client/holdfast.js";
import { existingTextPath, realTextPath } from "../../files/real-path.js";
import { requireFolder } from "../../files/required-folder.js";
import { createSystemClock } from "../../platform/clock.js";
import { readIgnoreRules } from "./capture/ignore-rules.js";
import { walk } from "./capture/walk.js";
import { collect, onlyOf, retire } from "./collect/gc.js";
import { pinObjects } from "./collect/pins.js";
import { checkSnapshots, repairSnapshots } from "./examine.js";
import { type Layout, layoutOf, parseWorktreeName, prepareLayout } from "./layout.js";
import * as names from "./option-names.js";
import {
  addWorktree,
  checkPayload,
  dropWorktree,
  ensurePayload,
  getWorktree,
  listWorktrees,
  payloadOf,
  type WorktreeRecord,
} from "./registry.js";
import { type RestoredInPlace, restoreInPlace, settle } from "./restore/in-place.js";
import { revert } from "./restore/revert.js";
import { restoreToNew } from "./restore/to-new.js";
import { compare } from "./snapshot/compare.js";
import { readHead } from "./snapshot/heads.js";
import { checkTexts, parseLevel } from "./snapshot/snapshot-options.js";
import { findSnapshot, folderOf, getSnapshot, listSnapshots, openObjects, resolveId } from "./snapshot/snapshots.js";
import { type Site, type TakeRequest, take } from "./snapshot/take-snapshot.js";
import { verifySnapshots } from "./snapshot/verify.js";
import { withCodes } from "./system-error.js";
import { type Presenting, sharedCommitter, withPayload, withRight } from "./worktree-lock.js";
import type { Progressing, WorktreeInfo, Worktrees, WorktreesOptions } from "./worktrees.js";

const GC_WAIT: Duration = "5s";

/**
 * Locks are those of `holdfast`, which stays the caller's to close; null is enough for reading, and creates nothing.
 * `E_INVALID_ARGUMENT` for a root that is not there, `E_FORMAT_UNSUPPORTED`, `E_IO`.
 */
export async function openWorktrees(locks: Holdfast | null, options: WorktreesOptions): Promise<Worktrees> {
  checkOptions(options, names.OPEN);
  if (typeof options.root !== "string") throw invalidArgument("root", "a path");
  requireFolder(options.root, "root");
  return withCodes(open(locks, options), join(options.root, HOME));
}

function open(locks: Holdfast | null, options: WorktreesOptions): Worktrees {
  const layout = layoutOf(existing(options.root));
  if (locks !== null) prepareLayout(layout);
  const site: Site = {
    layout,
    clock: createSystemClock(),
    owner: locks?.owner ?? "",
    threads: options.threads ?? null,
  };
  const needLocks = (): Holdfast => {
    if (locks === null) throw invalidArgument("holdfast", "this was opened for reading only");
    return locks;
  };

  const show = (record: WorktreeRecord): WorktreeInfo => ({
    worktree_id: record.worktree_id,
    path: payloadOf(layout, record),
    mode: record.mode,
    created_at: record.created_at,
    head: readHead(layout, record.worktree_id),
    restored_from: record.restored_from,
    warnings: record.mode === "shared" ? ["shared, high risk: no single writer is promised"] : [],
  });
  const reporter =
    ({ onProgress }: Progressing, expectedBytes: number | null) =>
    (files: number, bytes: number) =>
      onProgress?.({ files, bytes, expectedBytes });
  const headBytes = (name: string): number | null => {
    const head = readHead(layout, name);
    return head === null ? null : (findSnapshot(layout, head)?.bytes ?? null);
  };

  const inPlace = async (
    id: string,
    name: string,
    restoreOptions: Presenting & Progressing,
    isReverting: boolean,
  ): Promise<RestoredInPlace> => {
    const holdfast = needLocks();
    const worktree = getWorktree(layout, name);
    const snapshotId = resolveId(layout, id);
    getSnapshot(layout, snapshotId);
    if (worktree.mode === "shared" && options.sharedInPlace !== true) throw notShared(name);
    await settle(site, holdfast, name, { isReverting });
    const onProgress = reporter(restoreOptions, null);
    const payload = payloadOf(layout, worktree);
    return withPayload(holdfast, { ...worktree, payload }, restoreOptions, async (right) => {
      const { info } = await take(site, rescueRequest(worktree, snapshotId, restoreOptions.signal, onProgress), right);
      const request = { worktree, snapshotId, rescueId: info.snapshot_id, tokens: right.tokens, onProgress };
      return restoreInPlace(site, holdfast, request, right);
    });
  };

  return {
    trees: {
      async add(name, addOptions = {}) {
        checkOptions(addOptions, names.ADD);
        const { path = name, mode = "exclusive" } = addOptions;
        parseWorktreeName(name);
        needLocks();
        if (mode !== "exclusive" && mode !== "shared") throw invalidArgument("mode", "exclusive or shared");
        const wanted = realTextPath(resolve(layout.root, path));
        checkPayload(layout, wanted, name); // Before it is made: a refusal leaves no folder behind.
        const payload = ensurePayload(wanted);
        return show(
          await addWorktree(layout, { name, path: payload, mode, restoredFrom: null, wallMs: site.clock().wallMs }),
        );
      },
      list: () => listWorktrees(layout).map(show),
      get: (name) => show(getWorktree(layout, name)),
      async remove(name, removeOptions = {}) {
        checkOptions(removeOptions, names.REMOVE);
        const { snapshots = false, ...presenting } = removeOptions;
        const record = getWorktree(layout, name);
        const holdfast = needLocks();
        await settle(site, holdfast, name);
        await withRight(holdfast, record, presenting, async (right) => {
          const own = snapshots ? onlyOf(name, listSnapshots(layout)) : [];
          await right.commit(() => dropWorktree(layout, name), null, {});
          for (const id of own) retire(folderOf(layout, id));
        });
      },
    },
    async take(name, takeOptions = {}) {
      checkOptions(takeOptions, names.TAKE);
      const { note = "", tags = [], signal } = takeOptions;
      const holdfast = needLocks();
      const worktree = getWorktree(layout, name);
      const level = parseLevel(takeOptions.consistency, worktree.mode);
      checkTexts(note, tags);
      await settle(site, holdfast, name);
      const expected = takeOptions.onProgress === undefined ? null : (headBytes(name) ?? countBytes(layout, worktree));
      const onProgress = reporter(takeOptions, expected);
      const request = {
        worktree,
        level,
        kind: "snapshot",
        note,
        tags: [...new Set(tags)],
        signal,
        onProgress,
      } as const;
      const { info, filesRead } =
        worktree.mode === "shared"
          ? await take(site, request, sharedCommitter(holdfast, worktree))
          : await withRight(holdfast, worktree, takeOptions, (right) => take(site, request, right));
      return { ...info, files_read: filesRead };
    },
    list(listOptions = {}) {
      checkOptions(listOptions, names.LIST);
      const { worktree } = listOptions;
      if (worktree !== undefined) parseWorktreeName(worktree, "worktree");
      return listSnapshots(layout).filter((info) => worktree === undefined || info.worktree_id === worktree);
    },
    info: (id) => getSnapshot(layout, resolveId(layout, id)),
    async diff(before, after) {
      using _pin = await pinObjects(layout);
      using reader = openObjects(layout);
      return [...compare(layout, reader, resolveId(layout, before), resolveId(layout, after))];
    },
    async verify(id, verifyOptions = {}) {
      checkOptions(verifyOptions, names.VERIFY);
      const only = id === null ? null : resolveId(layout, id);
      if (only !== null) getSnapshot(layout, only);
      using _pin = await pinObjects(layout);
      return verifySnapshots(layout, only, verifyOptions.signal);
    },
    restore: {
      async toNew(id, to, restoreOptions = {}) {
        checkOptions(restoreOptions, names.TO_NEW);
        needLocks();
        const snapshotId = resolveId(layout, id);
        const { bytes } = getSnapshot(layout, snapshotId);
        const target = resolve(existing(dirname(resolve(to))), basename(resolve(to)));
        const name = parseWorktreeName(restoreOptions.name ?? basename(target));
        const onProgress = reporter(restoreOptions, bytes);
        return show(
          await restoreToNew(site, { snapshotId, to: target, name, signal: restoreOptions.signal, onProgress }),
        );
      },
      async inPlace(id, name, restoreOptions = {}) {
        checkOptions(restoreOptions, names.IN_PLACE);
        return inPlace(id, name, restoreOptions, false);
      },
      async settle(name, settleOptions = {}) {
        checkOptions(settleOptions, names.SETTLE);
        const { revert: isReverting = false } = settleOptions;
        getWorktree(layout, name);
        const finish = () => settle(site, needLocks(), name, { isReverting });
        if (!isReverting) return finish();
        return revert(layout, name, { finish, restore: (id) => inPlace(id, name, {}, true) });
      },
    },
    async gc(gcOptions = {}) {
      checkOptions(gcOptions, names.GC);
      const { wait = GC_WAIT } = gcOptions;
      needLocks();
      return collect(layout, parseDuration(wait, "wait", { atLeastMs: 0, atMostMs: 24 * 3_600_000 }));
    },
    async check(checkingOptions = {}) {
      checkOptions(checkingOptions, names.CHECK);
      return checkingOptions.repair === true ? repairSnapshots(site, needLocks()) : checkSnapshots(layout);
    },
  };
}

function rescueRequest(
  worktree: WorktreeRecord,
  snapshotId: string,
  signal: AbortSignal | undefined,
  onProgress: TakeRequest["onProgress"],
): TakeRequest {
  const note = `before restoring ${snapshotId} in place`;
  return { worktree, level: "quiesced", kind: "rescue", note, tags: ["rescue"], signal, onProgress };
}

/** For the time that is left, when there is no earlier snapshot to judge by. */
function countBytes(layout: Layout, worktree: WorktreeRecord): number {
  const payload = payloadOf(layout, worktree);
  let bytes = 0;
  for (const seen of walk({ payload, except: [layout.home], rules: readIgnoreRules(payload) }))
    if (seen.kind === "file") bytes += Number(seen.stats.size);
  return bytes;
}

function existing(path: string): string {
  try {
    return existingTextPath(path);
  } catch (error) {
    throw ioError(error, "find", path);
  }
}

function notShared(name: string): HoldfastError {
  return new HoldfastError(
    "E_FORBIDDEN",
    `${name} is a shared worktree: others may be writing in it, so it is not restored in place`,
    {
      next: ['Restore to a new folder with --to, or allow it: "sharedInPlace": true in holdfast.config.json.'],
    },
  );
}
