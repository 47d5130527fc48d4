/**
 * Finds in the store the grants behind the held tokens of a request, before the request is sent. A request with held
 * tokens does not wait behind the queue, so a token without a grant must not count: it is refused instead.
 */

import { HoldfastError } from "../../base/errors.js";
import { given } from "../../base/given.js";
import type { Grant } from "../../lock/grant.js";
import type { Key } from "../../lock/key.js";
import { hashLeaseToken } from "../../lock/lease-token.js";
import { isExpired } from "../../lock/profile.js";
import type { ListPage, Presented, Reader } from "../../store/contract.js";
import type { LeaseHome, Presenter } from "./lease-context.js";

const PAGE = 1_000;

type Home = Pick<LeaseHome, "store" | "clock">;

/** Everything these tokens hold, in all trees. `E_LOCK_NOT_HELD` for one that holds nothing. */
export async function heldBy(home: Home, tokens: readonly string[]): Promise<readonly Presented[]> {
  const hashes = new Set(tokens.map(hashLeaseToken));
  const found = await findHeld(home, hashes);
  for (const { tokenHash } of found) hashes.delete(tokenHash);
  // mutant: presented-token-checked: if (hashes.size > 0) → if (hashes.size < 0)
  if (hashes.size > 0)
    throw new HoldfastError("E_LOCK_NOT_HELD", "a lease token that was presented holds nothing (any more)", {
      next: ["Leave the token out to ask as a stranger, or acquire again what it held."],
    });
  return found;
}

/** What is held under these hashes and has not run out. */
export async function findHeld({ store, clock }: Home, hashes: ReadonlySet<string>): Promise<readonly Presented[]> {
  const found: Presented[] = [];
  for await (const page of grantPages(store.reader, null, [...hashes])) {
    const now = clock();
    for (const grant of page)
      if (hashes.has(grant.tokenHash) && !isExpired(grant, now))
        found.push({ resource: grant.resource, tokenHash: grant.tokenHash });
  }
  return found;
}

/** Reads all grants on a key and below it, or in the whole store, page by page. `stem`: as in `ListPage`. */
export async function* grantPages(
  reader: Pick<Reader, "list">,
  prefix: Key | null,
  known: readonly string[] = [],
  stem?: string,
): AsyncGenerator<readonly Grant[], void> {
  for (let after: ListPage["after"] = null; ; ) {
    const page = await reader.list({ prefix, after, limit: PAGE, known, ...given({ stem }) });
    yield page;
    const last = page.at(-1);
    if (page.length < PAGE || last === undefined) return;
    after = { resource: last.resource, lockId: last.lockId };
  }
}

/** What was handed down, as far as it is on record still: its holder may have given it back since. */
export async function stillOnRecord({ store }: Home, within: readonly Presenter[]): Promise<readonly Presenter[]> {
  const isThere = async ({ resource, tokenHash }: Presented): Promise<boolean> => {
    const { grants } = await store.reader.inspect(resource, [tokenHash]);
    return grants.some((grant) => grant.resource === resource && grant.tokenHash === tokenHash);
  };
  const found: Presenter[] = [];
  for (const { presented } of within) {
    const there: Presented[] = [];
    for (const each of presented) if (await isThere(each)) there.push(each);
    found.push({ presented: there });
  }
  return found;
}
