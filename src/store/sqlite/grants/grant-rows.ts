/**
 * Grants as rows of `dal_locks`. Those on a top-level key are one range of ids, since ids begin with a hash of their key;
 * those below the top are found by resource. Either way a look-up costs the same however much else the store holds.
 */

import { HoldfastError } from "../../../base/errors.js";
import type { Grant, Proof, UnreadableGrant } from "../../../lock/grant.js";
import { ancestorsOf, type Key, treeOf } from "../../../lock/key.js";
import { lockIdPrefix } from "../../../lock/lock-id.js";
import { isoTime } from "../../../lock/time.js";
import { unreadable } from "../../local/grant-codec.js";
import type { Database } from "../connection/database.js";
import type { Row, Statement } from "../connection/statement.js";
import type { Boots } from "./boots.js";
import { COLUMNS, rareDetailsOf, TOKEN_HASH, toGrant } from "./grant-columns.js";

/** Sorts behind every character of an id. */
export const BEHIND_ALL = "~";

export interface FoundGrants {
  readonly grants: Map<string, Grant>;
  readonly unreadable: UnreadableGrant[];
}

export class GrantRows {
  readonly #path: string;
  readonly #boots: Boots;
  readonly #insert: Statement;
  readonly #update: Statement;
  readonly #delete: Statement;
  readonly #select: Statement;
  readonly #selectTop: Statement;
  readonly #selectAt: Statement;
  readonly #selectBelow: Statement;
  #lastProof: Proof | null = null;
  #lastProofText = "";

  constructor(database: Database, boots: Boots) {
    this.#path = database.path;
    this.#boots = boots;
    this.#insert = database.prepare(`INSERT INTO dal_locks (${COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`);
    this.#update = database.prepare(
      `UPDATE dal_locks SET mode = ?, fencing_token = ?, heartbeat_ts = ?, lease_expires = ?, lease_ms = ?, boot = ?,
         renewed_boot_ms = ?, renewals = ?, details = ? WHERE lock_id = ?`,
    );
    this.#delete = database.prepare("DELETE FROM dal_locks WHERE lock_id = ?");
    const select = `SELECT ${COLUMNS} FROM dal_locks WHERE`;
    this.#select = database.prepare(`${select} lock_id = ?`);
    this.#selectTop = database.prepare(`${select} lock_id > ? AND lock_id < ? AND resource = ?`);
    this.#selectAt = database.prepare(`${select} instr(resource, '/') AND resource = ?`);
    this.#selectBelow = database.prepare(`${select} instr(resource, '/') AND resource > ? AND resource < ?`);
  }

  add(grant: Grant): void {
    const { lockId, resource, renewedAt } = grant;
    if (treeOf(resource) === resource && !lockId.startsWith(lockIdPrefix(resource)))
      throw new RangeError(`${lockId} is no id for a grant on ${resource}: it would not be found again`);
    // Before the other stamp, which is then at hand for the audit entry.
    const expires = isoTime(renewedAt.wallMs + grant.leaseMs);
    this.#insert.get(
      lockId,
      resource,
      grant.mode,
      grant.owner,
      grant.holderId,
      grant.nonce,
      this.#proofText(grant.proof),
      grant.tokenHash,
      grant.fencingToken,
      grant.createdAt,
      isoTime(renewedAt.wallMs),
      expires,
      grant.leaseMs,
      this.#boots.numberOf(renewedAt),
      renewedAt.bootMs,
      grant.renewals,
      JSON.stringify(grant.metadata),
      rareDetailsOf(grant),
    );
  }

  /** Only what can change in the life of a grant. */
  update(grant: Grant): void {
    const { renewedAt } = grant;
    this.#update.get(
      grant.mode,
      grant.fencingToken,
      isoTime(renewedAt.wallMs),
      isoTime(renewedAt.wallMs + grant.leaseMs),
      grant.leaseMs,
      this.#boots.numberOf(renewedAt),
      renewedAt.bootMs,
      grant.renewals,
      rareDetailsOf(grant),
      grant.lockId,
    );
  }

  drop(grant: Grant): void {
    this.#delete.get(grant.lockId);
  }

  /** Removes the rows on this key that cannot be read, but for those of a newer version. Returns how many. */
  clear(key: Key): number {
    let count = 0;
    for (const row of this.#rowsAt(key)) {
      try {
        toGrant(row, this.#boots);
      } catch (error) {
        if (unreadable(key, error).isNewer) continue;
        this.#delete.get(row[0] as string);
        count += 1;
      }
    }
    return count;
  }

  find(lockId: string): Grant | null {
    const row = this.#select.get(lockId);
    if (row === undefined) return null;
    try {
      return toGrant(row, this.#boots);
    } catch (cause) {
      throw new HoldfastError("E_STORE_CORRUPT", `${this.#path}: the grant ${lockId} cannot be read`, { cause });
    }
  }

  /** Null also for one that cannot be read. */
  held(key: Key, tokenHash: string): Grant | null {
    for (const row of this.#rowsAt(key)) {
      if (row[TOKEN_HASH] !== tokenHash) continue;
      try {
        return toGrant(row, this.#boots);
      } catch {
        return null;
      }
    }
    return null;
  }

  #rowsAt(key: Key): readonly Row[] {
    const prefix = lockIdPrefix(key);
    return treeOf(key) === key ? this.#selectTop.all(prefix, prefix + BEHIND_ALL, key) : this.#selectAt.all(key);
  }

  /** Adds what is held on the key, above it and below it. */
  findAround(key: Key, found: FoundGrants): void {
    const tree = treeOf(key);
    const prefix = lockIdPrefix(tree);
    this.#collect(this.#selectTop.all(prefix, prefix + BEHIND_ALL, tree), found);
    for (const node of ancestorsOf(key).slice(1)) this.#collect(this.#selectAt.all(node), found);
    if (tree !== key) this.#collect(this.#selectAt.all(key), found);
    // `/` is followed by `0` in the order of bytes, so these are the keys below.
    this.#collect(this.#selectBelow.all(`${key}/`, `${key}0`), found);
  }

  #collect(rows: readonly Row[], { grants, unreadable: broken }: FoundGrants): void {
    for (const row of rows) {
      try {
        grants.set(row[0] as string, toGrant(row, this.#boots));
      } catch (error) {
        broken.push(unreadable(row[1] as Key, error));
      }
    }
  }

  /** All grants of a process have the same proof. */
  #proofText(proof: Proof): string {
    if (proof !== this.#lastProof) {
      this.#lastProof = proof;
      this.#lastProofText = JSON.stringify(proof);
    }
    return this.#lastProofText;
  }
}
