/** Walks all grants and tickets of a store, tree by tree. */
import type { Grant, Ticket, UnreadableGrant } from "../../lock/grant.js";
import type { Key } from "../../lock/key.js";
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
