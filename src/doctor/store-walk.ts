/** Everything that is held and waited for in a store, tree by tree. */
import type { Grant, Ticket, UnreadableGrant } from "../lock/grant.js";
import type { Key } from "../lock/key.js";
import type { Life } from "../lock/profile.js";
import type { Examination } from "../store/contract.js";
import { lifeOfProcess, thisMachine } from "../support/machine.js";
import { probeLife } from "../support/proof-of-life.js";

export interface TreeContent {
  readonly tree: Key;
  readonly grants: readonly Grant[];
  readonly waiters: readonly Ticket[];
  readonly unreadable: readonly UnreadableGrant[];
}

/** A tree with anything in it has an audit chain: every grant is an entry. */
export async function* treesOf({ reader }: Examination): AsyncGenerator<TreeContent> {
  for (const tree of (await reader.auditHeads()).keys()) {
    const { grants, waiters, unreadable } = await reader.inspect(tree);
    yield { tree, grants, waiters, unreadable };
  }
}

/** "unknown" wherever nothing can be proven. */
export function lifeOf({ proofs }: Examination, of: Grant | Ticket): Life {
  if (proofs === null) return "unknown";
  const stamp = "renewedAt" in of ? of.renewedAt : of.refreshedAt;
  if (stamp.bootId !== thisMachine().bootId) return "unknown";
  switch (of.proof.kind) {
    case "none":
      return "unknown";
    case "pid":
      return lifeOfProcess(of.proof);
    case "file":
      return probeLife(proofs, of.nonce, of.proof.file);
  }
}
