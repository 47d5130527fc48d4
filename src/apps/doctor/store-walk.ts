/** Walks all grants and tickets of a store, tree by tree. */
import { type Grant, seenAt, type Ticket, type UnreadableGrant } from "../../lock/grant.js";
import type { Key } from "../../lock/key.js";
import type { Life } from "../../lock/profile.js";
import { lifeBehind } from "../../platform/liveness/liveness.js";
import { probeLife } from "../../platform/liveness/proof-of-life.js";
import { thisMachine } from "../../platform/machine.js";
import type { Examination } from "../../store/contract.js";

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

export function lifeIn({ proofs }: Examination, of: Grant | Ticket): Life {
  return proofs === null
    ? "unknown"
    : lifeBehind(of, seenAt(of), thisMachine(), (nonce, { file }) => probeLife(proofs, nonce, file));
}
