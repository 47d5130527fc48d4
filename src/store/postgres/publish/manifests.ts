/**
 * Publish records on a server. The row of the grant, which a request that would end it needs too, is locked from the
 * check to the record of the rename; but the server cannot see the disk, and its locks end with the connection. So the
 * client examines the disk, and three things are beside the target (files/target-mark.ts): a kernel lock, a mark with the
 * token of the publisher that began last, and the stage itself. The steps of publish/protocol.ts, and what a crash right
 * after each leaves:
 *
 *    2. the mark is made, if there is none; manifest `pending`       a mark; a manifest without a stage: aborted
 *       the mark is raised to the publisher's token on the target    the same
 *       (where that is held at the end only: right before 8)
 *    7. seal                                                         a stage: aborted, then removed
 *       ── one transaction from here ──
 *    8. the target is held (advisory lock), lease and fence are      the server rolls back: the same
 *       checked, the rows of the grants stay locked
 *       ── under the kernel lock, nothing is awaited ──
 *       the mark is still this publisher's; rename or exchange       the new tree is visible: rolled forward
 *    9. fsync both parents                                           the same
 *       ── the kernel lock is left ──
 *   10. manifest `committed`, with its audit entry; COMMIT           published; the old tree still at tmp/<id>
 *   11. the old tree is removed                                      a manifest that is not cleared
 *
 * The next client that is granted the key, or one above or below it, settles what a crash left. The server reports it with
 * the grant, and the client settles before its caller gets the grant; when it cannot, it releases the grant. The next
 * publish to the target and `doctor` settle too. A target that the new holder does not see is left to clients that see it.
 *
 * The connection may break between 8 and 10 without its client noticing. Then the server rolls back, and another holder may
 * be granted the key and settle: it removes the stage, under the kernel lock, so the late publisher finds nothing to rename.
 * If the server has lost the manifest too, because it was restored from an older copy, the mark stops the late publisher as
 * soon as the new holder has begun to publish. A rename that was made in time, and whose record is lost, is rolled forward
 * by the publisher itself as soon as the server answers, or else by the client that settles.
 *
 * A COMMIT whose answer is lost is settled like a crash: the record shows the outcome, and if it says pending, the disk
 * does. Every call may be sent twice.
 */

import { HoldfastError } from "../../../base/errors.js";
import {
  assertNotOvertaken,
  type MarkHolder,
  markPlace,
  raiseMark,
  underTargetGuard,
} from "../../../files/target-mark.js";
import { treeOf } from "../../../lock/key.js";
import type { Manifest, ManifestFile } from "../../../lock/manifest.js";
import { thisMachine } from "../../../platform/machine.js";
import type { FencedRef, GrantRef, ManifestDraft, Manifests } from "../../contract.js";
import { isMade } from "../../publish/settle-on-disk.js";
import { createSweeper } from "../../publish/sweeper.js";
import { call } from "../connection/call.js";
import type { Connection, Session } from "../connection/connection.js";
import { partyOf, refsOf } from "../locks/locks.js";
import {
  columnsOf,
  listManifests,
  readManifest,
  refOf,
  type ToldBegin,
  type ToldManifest,
} from "./manifest-records.js";
import { type Asker, askIn, GUARD_MS, STEP_MS, settleManifest } from "./settle-manifests.js";

/** Whoever comes to the rename later than this after its check may have been cut off. */
const TRUST_MS = STEP_MS - 2_000;
/** Longer than a transaction of its own can stand in the way. */
const RECORD_MS = STEP_MS + 2_000;
/** Older manifests of a target that are kept, with their lists. */
const KEPT = 3;

interface CommitWork {
  readonly grant: GrantRef;
  readonly also: readonly FencedRef[];
  readonly party: Asker;
  make(): boolean;
}

/** Settles what was told with a grant, before its caller hears of it. */
export type SettleLeft = (left: readonly ToldManifest[] | undefined, party: Asker) => Promise<void>;

export interface ServerManifests extends Manifests {
  readonly settleLeft: SettleLeft;
  close(): Promise<void>;
}

export function createManifests(connection: Connection, store: string): ServerManifests {
  const clear = async ({ id }: Pick<Manifest, "id">): Promise<void> => {
    await connection.ask(() => call("manifest_clear", { id, keeps: KEPT, store }));
  };
  const { sweep, close } = createSweeper(clear);

  const settle = (id: string, party: Asker, mine: boolean, forMs?: number): Promise<Manifest | null> =>
    settleManifest(connection, store, { id, mine, party }, forMs);

  const settleOthers = async ({ id }: { readonly id: string }, party: Asker): Promise<Manifest | null> => {
    const ended = await settle(id, party, false);
    if (ended !== null) sweep([ended]);
    return ended;
  };

  /** What others have pending on the target is settled, unless its writer lives and has renamed nothing. */
  const lookAt = async (told: ToldManifest, party: Asker): Promise<void> => {
    if (!told.live) await settleOthers(told, party);
    else if (isMade(readManifest(told))) await settle(told.id, party, true);
  };

  const begin = async (grant: GrantRef, party: Asker, draft: ManifestDraft): Promise<Manifest> => {
    const place = await markPlace(draft.target);
    const { machineId: machine } = thisMachine();
    const about = {
      id: draft.id,
      op: draft.op,
      target: draft.target,
      tmp_path: draft.tmpPath,
      path_key: draft.pathKey,
      place,
      machine,
    };
    const seen: string[] = [];
    for (;;) {
      const { begun, pending, uncleared } = await connection.ask<ToldBegin>(() =>
        call("manifest_begin", { ...about, ...refOf(grant), seen, store }),
      );
      sweep(uncleared.map(readManifest));
      if (begun !== null) return readManifest(begun);
      for (const told of pending) await lookAt(told, party);
      seen.push(...pending.map(({ id }) => id));
    }
  };

  const holderOf = ({ resource, fencingToken }: Pick<FencedRef, "resource" | "fencingToken">): MarkHolder => ({
    store,
    tree: treeOf(resource),
    fencingToken,
  });

  /** Checks, renames, and puts it on record, in one transaction. */
  const commitIn = async (
    session: Session,
    manifest: Manifest,
    { grant, also, party, make }: CommitWork,
  ): Promise<Manifest> => {
    const { id, target } = manifest;
    const [byTarget = manifest] = also;
    await session.query("BEGIN ISOLATION LEVEL READ COMMITTED");
    // mutant: publish-server-path: if (also.length > 0) await askIn( → if (also.length < 0) await askIn(
    if (also.length > 0) await askIn(session, call("assert_fence", { ...refsOf(also), max_ms: STEP_MS, store }));
    await askIn(session, call("manifest_check", { id, ...refOf(grant), max_ms: STEP_MS, store }));
    const checkedAt = performance.now();
    const rename = (): boolean => {
      // mutant: publish-late-mark: assertNotOvertaken(target, holderOf(byTarget)); →
      assertNotOvertaken(target, holderOf(byTarget));
      if (performance.now() - checkedAt > TRUST_MS) throw stoodStill(target);
      return make();
    };
    const replaced = await underTargetGuard(target, rename, GUARD_MS);
    const made = { id, replaced, ...refOf(grant), ...partyOf(party), store };
    const told = await askIn<ToldManifest>(session, call("manifest_commit", made));
    await session.query("COMMIT");
    return readManifest(told);
  };

  return {
    begin,
    // mutant: publish-late-raise: raiseMark(target, holderOf(by)) → Promise.resolve()
    claim: ({ target }, by) => raiseMark(target, holderOf(by)),
    async addFiles(grant, { id }, files) {
      await connection.ask(() => call("manifest_add", { id, ...refOf(grant), ...columnsOf(files), store }));
    },
    async seal(grant, { id }, { identity, fileCount, byteCount }, files) {
      const facts = { identity, file_count: fileCount, bytes: byteCount, ...columnsOf(files) };
      const told = await connection.ask<ToldManifest>(() =>
        call("manifest_seal", { id, ...refOf(grant), ...facts, store }),
      );
      return readManifest(told);
    },
    async commit(grant, party, manifest, make, also = []) {
      let isRenamed = false;
      const noted = (): boolean => {
        const replaced = make();
        isRenamed = true;
        return replaced;
      };
      try {
        const work = { grant, also, party, make: noted };
        return await connection.transaction((session) => commitIn(session, manifest, work));
      } catch (error) {
        // mutant: publish-lost-commit: if (!isRenamed) throw error; → if (isRenamed) throw error;
        if (!isRenamed) throw error;
        const ended = await settle(manifest.id, party, true, RECORD_MS).catch(() => null);
        if (ended?.state !== "committed") throw error;
        return ended;
      }
    },
    /** The server has it on its disk when it answers. */
    async onDisk() {},
    settle: (which, party, mine) => (mine ? settle(which.id, party, true) : settleOthers(which, party)),
    clear,
    list: (page) => listManifests(connection, store, page),
    files: ({ id }, after, limit) =>
      connection.ask<readonly ManifestFile[]>(() =>
        call("files_of_manifest", { id, after_path: after, page: limit, store }),
      ),
    async settleLeft(left = [], party) {
      for (const each of left) await settleOthers(each, party);
    },
    close,
  };
}

function stoodStill(target: string): HoldfastError {
  return new HoldfastError(
    "E_STORE_UNAVAILABLE",
    `too much time went by between the check and the rename to ${target}: the server may have ended it`,
    { reason: "timeout" },
  );
}
