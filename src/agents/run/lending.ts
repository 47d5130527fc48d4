/**
 * Lends the files that a run holds to the runs that work for it (its borrowers): a borrower holds `lent:files/LENDER/…`
 * of the file, where the ordinary rules apply.
 *
 * No borrower may keep a grant on a file that its lender has released. So the lender acquires the same key before it
 * releases the file, and a borrower that has just acquired that key checks again that the lender still holds the file.
 */

import { isHoldfastError } from "../../base/errors.js";
import type { Holdfast } from "../../client/holdfast.js";
import { kernelOf } from "../../client/kernel.js";
import type { Lease } from "../../client/lease/lease.js";
import { isAbandoned } from "../../client/workspace/detached-grants.js";
import { isLentKey, lentKey } from "../../client/workspace/lent-key.js";
import { type FoundToken, openTokenFiles } from "../../client/workspace/token-files.js";
import type { TokenFolder } from "../../client/workspace/token-folder.js";
import { type Key, parseKey } from "../../lock/key.js";
import { PATH_TREE } from "../../lock/reserved-kinds.js";

/** The whole tree of files. */
export const FILES = parseKey(PATH_TREE);

export interface Lender {
  readonly holdfast: Holdfast;
  readonly folder: TokenFolder;
}

/** Gives back what is kept for one owner, but for what somebody who still works has borrowed: that lapses by itself. Returns how many. */
export async function giveBack(place: Lender, owner: string, tokens: readonly FoundToken[]): Promise<number> {
  const borrowed = tokens.filter(({ resource }) => isLentKey(resource));
  const files = tokens.filter(({ resource }) => !isLentKey(resource));
  let released = 0;
  for (const each of borrowed) released += await giveBackOne(place, each);
  const allAtOnce = await whileNotLent(place, lentKey(owner, FILES), files);
  if (allAtOnce !== null) return released + allAtOnce;
  for (const each of files)
    released += (await whileNotLent(place, lentKey(owner, parseKey(each.resource)), [each])) ?? 0;
  return released;
}

/** Null when some of it is lent. */
async function whileNotLent(place: Lender, lent: Key, tokens: readonly FoundToken[]): Promise<number | null> {
  if (tokens.length === 0) return 0;
  await using closed = await closeToBorrowers(place.holdfast, [lent]);
  if (closed === null) return null;
  let released = 0;
  for (const each of tokens) released += await giveBackOne(place, each);
  return released;
}

/** Keeps borrowers away from these keys of a lender while the lease is held, but for `loans`. Null when one is lent. */
export async function closeToBorrowers(
  holdfast: Holdfast,
  lent: readonly Key[],
  loans: readonly FoundToken[] = [],
): Promise<Lease | null> {
  const presenting = [...new Set(loans.map((each) => each.lease_token))];
  try {
    // mutant: hook-lent-closed: holdfast.acquire(lent, → holdfast.acquire("other",
    return await holdfast.acquire(lent, { wait: 0, presenting });
  } catch (error) {
    if (isHoldfastError(error, "E_LOCK_CONFLICT")) return null;
    throw error;
  }
}

/**
 * One, or none when it was over already or something nests in it still. What is only asked for is left alone: a hook of the
 * same run may stand in line with it, and finds what it is given by nothing else.
 */
export async function giveBackOne({ holdfast, folder }: Lender, kept: FoundToken): Promise<number> {
  const files = openTokenFiles(folder, kept.owner);
  try {
    await (await holdfast.reattach(kept.resource, kept.lease_token)).release();
    files.forget([kept.resource], kept.lease_token);
    return 1;
  } catch (error) {
    if (isHoldfastError(error, "E_LOCK_ORDER")) return 0;
    if (!isHoldfastError(error, "E_LOCK_NOT_HELD")) throw error;
    // mutant: hook-token-in-line: kept.state !== "asked" || isAbandoned → kept.state !== "asked" || !isAbandoned
    if (kept.state !== "asked" || isAbandoned(kept, kernelOf(holdfast).clock().wallMs))
      files.forget([kept.resource], kept.lease_token);
    return 0;
  }
}
