/**
 * Holds a deliverable folder in the store of the workspace around it: `deliverable:ID` and the folder's own key, `path/…`, in
 * one request. So holders of files in the folder and holders of the folder exclude each other. Outside of a workspace the
 * file `_LOCK.json` alone is the lock.
 *
 * The grants are detached, with the lease of the file, and bound to the process that the file is bound to. The file's
 * lease token is the token of the grants; it is kept for the owner before the store is asked, as every command's is.
 *
 * `deliverable.ts` calls this under the folder's guard. The order of the two places, and what a crash between leaves:
 *
 *   lock     store, then file    grants without a file. They end with the process, or with their lease; the next `lock` of
 *                                the same user and owner ends them at once, because under the guard none is in the making
 *   renew    store, then file    grants that last longer than the file says
 *   commit   both are checked    the same
 *   unlock   store, then file    a file without grants: it refuses others until it is unlocked again or its lease is over
 *   recover  store, then file    the same; `recover` again
 *
 * A file with grants that are lost (broken, or of a store that was replaced) is lost: `renew` and `commit` refuse.
 */
import { HoldfastError, isHoldfastError } from "../../base/errors.js";
import { deliverableKey } from "../../client/deliverable/record.js";
import type { Holdfast } from "../../client/holdfast.js";
import { kernelOf } from "../../client/kernel.js";
import type { OpenedAround } from "../../client/open-holdfast.js";
import { acquireDetached, tokensAround } from "../../client/workspace/detached-grants.js";
import { tokenFolderOf } from "../../client/workspace/find-workspace.js";
import { borrowFromHook } from "../../client/workspace/run-tokens.js";
import { openTokenFiles, type TokenFiles } from "../../client/workspace/token-files.js";
import { type Key, parseKey } from "../../lock/key.js";
import { hashLeaseToken } from "../../lock/lease-token.js";
import { withNames } from "../../lock/one-thing.js";

/** Opens the workspace around a folder in a holder's name; null when there is none. */
export type OpenStore = (folder: string, holder: string) => Promise<OpenedAround | null>;

export interface StoreLease {
  readonly token: string;
  readonly resources: readonly string[];
}

interface Wanted {
  readonly deliverableId: string;
  readonly leaseMs: number;
  /** The process whose death ends the lock; null: none. */
  readonly pid: number | null;
}

export class StoreLock {
  readonly #folder: string;
  readonly #holdfast: Holdfast;
  readonly #workspace: OpenedAround["workspace"];
  readonly #files: TokenFiles;

  constructor(folder: string, { holdfast, workspace }: OpenedAround) {
    this.#folder = folder;
    this.#holdfast = holdfast;
    this.#workspace = workspace;
    this.#files = openTokenFiles(tokenFolderOf(workspace, workspace.env), holdfast.owner, "deliverable");
  }

  /** At once or not at all: `E_LOCK_CONFLICT`, with the fields of the folder in its report. */
  async acquire(wanted: Wanted): Promise<StoreLease> {
    const key = deliverableKey(wanted.deliverableId);
    try {
      // mutant: deliverable-left-grants: await this.#endLeft(key); →
      await this.#endLeft(key);
      return await this.#acquire(key, wanted);
    } catch (error) {
      if (!isHoldfastError(error, "E_LOCK_CONFLICT")) throw error;
      throw (await this.#elsewhere(key, wanted.deliverableId)) ?? asFolder(error, wanted.deliverableId);
    }
  }

  /** Extends the grants. `E_LOCK_NOT_HELD`, `E_LOCK_EXPIRED` */
  async renew({ token, resources }: StoreLease, leaseMs: number | null): Promise<void> {
    if (resources.length === 0) return;
    const lease = await this.#holdfast.reattach(resources, token);
    await lease.renew(leaseMs ?? undefined);
  }

  /** Runs `write` in a step of the store that checks the grants. */
  async commit<T>({ token, resources }: StoreLease, write: () => T): Promise<T> {
    if (resources.length === 0) return write();
    return (await this.#holdfast.borrow(resources, token)).commit(write);
  }

  /** Ends the grants; those that are gone are no error. */
  async release({ token, resources }: StoreLease): Promise<void> {
    if (resources.length === 0) return;
    const held = await kernelOf(this.#holdfast).findHeld(new Set([hashLeaseToken(token)]));
    const keys = held.map(({ resource }) => resource);
    if (keys.length > 0) await (await this.#holdfast.reattach(keys, token)).release();
    this.#files.forget(resources, token);
  }

  /** Ends grants of a lock whose holder is gone, where the store knows it too. */
  async recover(resources: readonly string[]): Promise<void> {
    for (const resource of resources) await this.#holdfast.recover(resource);
  }

  async close(): Promise<void> {
    await this.#holdfast.close();
  }

  async #acquire(key: Key, { deliverableId, leaseMs, pid }: Wanted): Promise<StoreLease> {
    const { env } = this.#workspace;
    const path = kernelOf(this.#holdfast).pathKeyOf(this.#folder);
    // mutant: deliverable-path-key: const keys = path === null ? [key] : [key, path]; → const keys = path === null ? [] : [key];
    const keys = path === null ? [key] : [key, path];
    const around = await tokensAround(this.#holdfast, env.HOLDFAST_LEASE_TOKEN || undefined);
    const { presenting, lent } = await borrowFromHook(this.#holdfast, this.#workspace, env, keys);
    const resources = [...keys, ...lent];
    const lease = await acquireDetached("acquire", this.#holdfast, this.#files, resources, {
      ttl: leaseMs,
      wait: 0,
      presenting: [...new Set([...around, ...presenting])],
      // mutant: one-thing-deliverable: keys), → keys.slice(1)),
      metadata: withNames({ deliverable: deliverableId, folder: this.#folder }, keys),
      ...(pid === null ? {} : { pid }),
    });
    return { token: lease.token, resources };
  }

  /** Grants on this folder of this user and owner, whose file was never made or is gone. */
  async #endLeft(key: Key): Promise<void> {
    for (const { lease_token: token, resource } of this.#files.find(key)) {
      const hash = hashLeaseToken(token);
      const { grants } = await kernelOf(this.#holdfast).inspect(parseKey(resource), [hash]);
      const left = grants.find((grant) => grant.tokenHash === hash && grant.metadata.folder === this.#folder);
      if (left === undefined) continue;
      const held = await kernelOf(this.#holdfast).findHeld(new Set([hash]));
      await this.release({ token, resources: held.map((each) => each.resource) });
    }
  }

  /** The refusal when another folder with this id is locked. */
  async #elsewhere(key: Key, deliverableId: string): Promise<HoldfastError | null> {
    const { grants } = await kernelOf(this.#holdfast).inspect(key);
    const other = grants.find(
      ({ metadata }) => typeof metadata.folder === "string" && metadata.folder !== this.#folder,
    );
    if (other === undefined) return null;
    const { folder } = other.metadata;
    return new HoldfastError(
      "E_LOCK_CONFLICT",
      `the deliverable ${deliverableId} is locked in another folder, ${folder}`,
      {
        details: { resource: key, folder, holder: other.owner },
        next: [`If this is another deliverable: holdfast deliverable lock ${this.#folder} --id ID`],
      },
    );
  }
}

/** With the fields that the report on a folder has. */
function asFolder(error: HoldfastError, deliverableId: string): HoldfastError {
  const { contention, ...details } = error.details as { contention?: { readonly owner?: string } };
  const report = { ...contention, deliverable_id: deliverableId, holder: contention?.owner ?? null };
  return new HoldfastError("E_LOCK_CONFLICT", error.message, {
    cause: error,
    details: { ...details, contention: report },
    next: error.next,
  });
}
