/** The front door: worktrees of one workspace, their snapshots, and restoring them. */
import { realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { type Duration, parseDuration } from "../lease/duration.js";
import type { Holdfast } from "../lease/holdfast.js";
import { createSystemClock } from "../support/clock.js";
import { HoldfastError, invalidArgument, ioError } from "../support/errors.js";
import { readIgnoreRules } from "./capture/ignore-rules.js";
import { walk } from "./capture/walk.js";
import { checkSnapshots, type Fault, repairSnapshots } from "./check.js";
import { compare, type Difference } from "./compare.js";
import { CONSISTENCY_LEVELS, type ConsistencyLevel, type SnapshotInfo } from "./descriptor.js";
import { type Collected, collect, retire } from "./gc.js";
import { readHead } from "./heads.js";
import { type Layout, layoutOf, parseWorktreeName, prepareLayout } from "./layout.js";
import { type Presenting, sharedCommitter, withRight } from "./locking.js";
import { pinObjects } from "./pins.js";
import {
  addWorktree,
  dropWorktree,
  ensurePayload,
  getWorktree,
  listWorktrees,
  payloadOf,
  type WorktreeMode,
  type WorktreeRecord,
} from "./registry.js";
import { type RestoredInPlace, restoreInPlace, settle } from "./restore/in-place.js";
import { revert } from "./restore/revert.js";
import { restoreToNew } from "./restore/to-new.js";
import { folderOf, getSnapshot, listSnapshots, openObjects, resolveId } from "./snapshots.js";
import { withCodes } from "./system-error.js";
import { type Site, type TakeRequest, take } from "./take.js";
import { type Verdict, verifySnapshots } from "./verify.js";

export interface WorktreesOptions {
  /** The workspace. */
  readonly root: string;
  /** Allows restoring a shared worktree in place. */
  readonly sharedInPlace?: boolean;
  /** Threads that hash. Default as many as are good here; 0 for none. */
  readonly threads?: number;
}

export interface TakeOptions extends Presenting, Progressing {
  readonly note?: string;
  readonly tags?: readonly string[];
  /** Default `quiesced`; in a shared worktree `best_effort`. */
  readonly consistency?: ConsistencyLevel;
}

interface Progressing {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
}

export interface Progress {
  readonly files: number;
  readonly bytes: number;
  /** What the tree had the last time, or null. */
  readonly expectedBytes: number | null;
}

/** A worktree as it is shown. */
export interface WorktreeInfo {
  readonly worktree_id: string;
  readonly path: string;
  readonly mode: WorktreeMode;
  readonly created_at: string;
  readonly head: string | null;
  readonly restored_from: string | null;
  readonly warnings: readonly string[];
}

export interface Worktrees {
  readonly trees: {
    /** `E_INVALID_ARGUMENT` when the name is taken, or folders would lie in one another. */
    add(name: string, options?: { readonly path?: string; readonly mode?: WorktreeMode }): Promise<WorktreeInfo>;
    list(): readonly WorktreeInfo[];
    get(name: string): WorktreeInfo;
    /** Forgets it; its files stay. With `snapshots` its history goes too, for gc to remove. */
    remove(name: string, options?: Presenting & { readonly snapshots?: boolean }): Promise<void>;
  };
  /** `E_LOCK_CONFLICT`, `E_CONSISTENCY_UNAVAILABLE`, `E_FENCING_MISMATCH`, `E_LOCK_EXPIRED`, `E_LOCK_NOT_HELD`, `E_IO`. */
  take(worktree: string, options?: TakeOptions): Promise<SnapshotInfo & { readonly files_read: number }>;
  /** Complete snapshots, oldest first. Takes no lock. */
  list(options?: { readonly worktree?: string }): readonly SnapshotInfo[];
  /** By id, or an unmistakable part of one. `E_NOT_FOUND`, `E_PARTIAL_SNAPSHOT`. */
  info(id: string): SnapshotInfo;
  diff(before: string, after: string): Promise<readonly Difference[]>;
  /** One, or everything. */
  verify(id: string | null, options?: Pick<Progressing, "signal">): Promise<Verdict>;
  readonly restore: {
    /** Makes a new worktree, without any lock. */
    toNew(id: string, to: string, options?: Progressing & { readonly name?: string }): Promise<WorktreeInfo>;
    /** `E_FORBIDDEN` in a shared worktree unless it was configured. */
    inPlace(id: string, worktree: string, options?: Presenting & Progressing): Promise<RestoredInPlace>;
    /** Finishes what a crash interrupted; null when nothing was. With `revert` goes back to what was there before. */
    settle(worktree: string, options?: { readonly revert?: boolean }): Promise<RestoredInPlace | null>;
  };
  /** Removes what nothing uses. */
  gc(options?: { readonly wait?: Duration }): Promise<Collected>;
  /** What a crash or tampering left. `repair` tidies what is safe. */
  check(options?: { readonly repair?: boolean }): Promise<readonly Fault[]>;
}

const GC_WAIT: Duration = "5s";

/**
 * Locks are those of `holdfast`, which stays the caller's to close; null is enough for reading, and creates nothing.
 * `E_FORMAT_UNSUPPORTED`, `E_IO`.
 */
export async function openWorktrees(locks: Holdfast | null, options: WorktreesOptions): Promise<Worktrees> {
  return withCodes(open(locks, options), join(options.root, ".holdfast"));
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
    return head === null ? null : getSnapshot(layout, head).bytes;
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
    return withRight(holdfast, worktree, restoreOptions, async (right) => {
      const { info } = await take(site, rescueRequest(worktree, snapshotId, restoreOptions.signal, onProgress), right);
      const request = { worktree, snapshotId, rescueId: info.snapshot_id, token: right.token, onProgress };
      return restoreInPlace(site, holdfast, request, right);
    });
  };

  return {
    trees: {
      async add(name, { path = name, mode = "exclusive" } = {}) {
        parseWorktreeName(name);
        needLocks();
        if (mode !== "exclusive" && mode !== "shared") throw invalidArgument("mode", "exclusive or shared");
        const payload = ensurePayload(resolve(layout.root, path));
        return show(
          addWorktree(layout, { name, path: payload, mode, restoredFrom: null, wallMs: site.clock().wallMs }),
        );
      },
      list: () => listWorktrees(layout).map(show),
      get: (name) => show(getWorktree(layout, name)),
      async remove(name, { snapshots = false, ...presenting } = {}) {
        const record = getWorktree(layout, name);
        const holdfast = needLocks();
        await settle(site, holdfast, name);
        await withRight(holdfast, record, presenting, async (right) => {
          const all = listSnapshots(layout);
          const parents = new Set(all.filter((each) => each.worktree_id !== name).map((each) => each.parent_id));
          const own = all.filter((each) => each.worktree_id === name && !parents.has(each.snapshot_id));
          await right.commit(() => dropWorktree(layout, name), null, {});
          if (snapshots) for (const { snapshot_id: id } of own) retire(folderOf(layout, id));
        });
      },
    },
    async take(name, takeOptions = {}) {
      const { note = "", tags = [], signal } = takeOptions;
      const holdfast = needLocks();
      const worktree = getWorktree(layout, name);
      const level = parseLevel(takeOptions.consistency, worktree.mode);
      checkTexts(note, tags);
      await settle(site, holdfast, name);
      const expected = takeOptions.onProgress === undefined ? null : (headBytes(name) ?? countBytes(layout, worktree));
      const onProgress = reporter(takeOptions, expected);
      const request = { worktree, level, kind: "snapshot", note, tags, signal, onProgress } as const;
      const { info, filesRead } =
        worktree.mode === "shared"
          ? await take(site, request, sharedCommitter(holdfast, worktree))
          : await withRight(holdfast, worktree, takeOptions, (right) => take(site, request, right));
      return { ...info, files_read: filesRead };
    },
    list({ worktree } = {}) {
      if (worktree !== undefined) parseWorktreeName(worktree, "worktree");
      return listSnapshots(layout).filter((info) => worktree === undefined || info.worktree_id === worktree);
    },
    info: (id) => getSnapshot(layout, resolveId(layout, id)),
    async diff(before, after) {
      using _pin = await pinObjects(layout);
      using reader = openObjects(layout);
      return [...compare(layout, reader, resolveId(layout, before), resolveId(layout, after))];
    },
    async verify(id, { signal } = {}) {
      const only = id === null ? null : resolveId(layout, id);
      if (only !== null) getSnapshot(layout, only);
      using _pin = await pinObjects(layout);
      return verifySnapshots(layout, only, signal);
    },
    restore: {
      async toNew(id, to, restoreOptions = {}) {
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
      inPlace: (id, name, restoreOptions = {}) => inPlace(id, name, restoreOptions, false),
      async settle(name, { revert: isReverting = false } = {}) {
        getWorktree(layout, name);
        const finish = () => settle(site, needLocks(), name, { isReverting });
        if (!isReverting) return finish();
        return revert(layout, name, { finish, restore: (id) => inPlace(id, name, {}, true) });
      },
    },
    async gc({ wait = GC_WAIT } = {}) {
      needLocks();
      return collect(layout, parseDuration(wait, "wait", { atLeastMs: 0, atMostMs: 24 * 3_600_000 }));
    },
    check: async ({ repair = false } = {}) => (repair ? repairSnapshots(site, needLocks()) : checkSnapshots(layout)),
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
    return realpathSync(path);
  } catch (error) {
    throw ioError(error, "find", path);
  }
}

function parseLevel(level: ConsistencyLevel | undefined, mode: WorktreeMode): ConsistencyLevel {
  if (level === undefined) return mode === "shared" ? "best_effort" : "quiesced";
  if (!CONSISTENCY_LEVELS.includes(level))
    throw invalidArgument("consistency", `one of ${CONSISTENCY_LEVELS.join(", ")}`);
  return level;
}

function checkTexts(note: string, tags: readonly string[]): void {
  if (typeof note !== "string" || note.length > 4_096)
    throw invalidArgument("note", "text of at most 4,096 characters");
  if (!Array.isArray(tags) || tags.length > 32 || tags.some((tag) => !/^[\w.:@+-]{1,64}$/.test(String(tag))))
    throw invalidArgument("tags", "at most 32 words of letters, digits and . : @ + - _");
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
