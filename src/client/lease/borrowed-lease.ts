/**
 * A lease that a child process uses through a token that it was handed: it may check and commit, but only the holder
 * renews and releases.
 */

import { HoldfastError } from "../../base/errors.js";
import { hashLeaseToken } from "../../lock/lease-token.js";
import type { FencedRef, Presented } from "../../store/contract.js";
import type { Kernel } from "../kernel.js";
import { parseKeys, parseToken } from "../options.js";

export interface BorrowedLease {
  readonly keys: readonly string[];
  readonly fencingTokens: readonly number[];
  /** `E_FENCING_MISMATCH`, `E_LOCK_EXPIRED`, `E_LOCK_NOT_HELD`. */
  verify(): Promise<void>;
  /** As `Lease.commit`. */
  commit<T>(write: () => T): Promise<T>;
  /** @internal What it shows of itself with a request that is made `within` it. */
  readonly presented: readonly Presented[];
  /** @internal As `Lease.kernel`. */
  readonly kernel: Kernel;
  /** @internal As `Lease.refs`. */
  readonly refs: readonly FencedRef[];
  /** @internal As `Lease.through`. */
  through<T>(step: () => Promise<T>): Promise<T>;
}

/** `E_LOCK_NOT_HELD` when the token holds nothing on one of the keys. */
export async function createBorrowedLease(
  kernel: Kernel,
  keys: string | readonly string[],
  token: string,
): Promise<BorrowedLease> {
  const tokenHash = hashLeaseToken(parseToken(token));
  const refs: FencedRef[] = [];
  for (const resource of parseKeys(keys)) {
    const { grants } = await kernel.inspect(resource, [tokenHash]);
    const grant = grants.find((each) => each.resource === resource && each.tokenHash === tokenHash);
    if (grant === undefined) throw new HoldfastError("E_LOCK_NOT_HELD", `this token holds nothing on ${resource}`);
    refs.push({ resource, lockId: grant.lockId, tokenHash, fencingToken: grant.fencingToken });
  }
  return {
    keys: refs.map((ref) => ref.resource),
    fencingTokens: refs.map((ref) => ref.fencingToken),
    async verify() {
      for (const { resource, fencingToken } of refs) await kernel.verify(resource, fencingToken);
    },
    commit: (write) => kernel.commit(refs, write),
    presented: refs,
    kernel,
    refs,
    through: (step) => step(),
  };
}
