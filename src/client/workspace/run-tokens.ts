/**
 * Finds what a command of a run may use of the run. A command borrows the paths that the run's hook holds: it presents
 * the hook's tokens, so that its own grant nests in the hook's. With each such path it acquires the key of the loan, as a
 * sub-agent does, because grants that nest in one cover do not exclude each other. It presents nothing that another
 * command acquired. So the commands and the sub-agents of one run exclude each other.
 */
import { isWithin, type Key } from "../../lock/key.js";
import { hashLeaseToken } from "../../lock/lease-token.js";
import { isExpired } from "../../lock/profile.js";
import type { Holdfast } from "../holdfast.js";
import { kernelOf } from "../kernel.js";
import { parseKeys } from "../options.js";
import { type FoundWorkspace, tokenFolderOf } from "./find-workspace.js";
import { lentKey } from "./lent-key.js";
import { forbiddenToken, isInheritedToken } from "./owner.js";
import { allTokens, type FoundToken, tokensOf } from "./token-files.js";

type Here = Pick<FoundWorkspace, "root" | "where" | "run">;

export interface Borrowing {
  /** The tokens with which the hook of this run holds something on, above or below the keys. */
  readonly presenting: readonly string[];
  /** The keys of loans that are acquired beside the keys. */
  readonly lent: readonly Key[];
}

const NOTHING: Borrowing = { presenting: [], lent: [] };

export async function borrowFromHook(
  holdfast: Holdfast,
  here: Here,
  env: NodeJS.ProcessEnv,
  keys: readonly string[],
): Promise<Borrowing> {
  if (!actsForRun(holdfast, here)) return NOTHING;
  const wanted = parseKeys(keys);
  // mutant: command-shares-a-command: ({ taken_by }) => taken_by === "hook" → () => true
  const kept = tokensOf(tokenFolderOf(here, env), holdfast.owner).filter(({ taken_by }) => taken_by === "hook");
  const near = kept.filter(({ resource }) => wanted.some((key) => isWithin(key, resource) || isWithin(resource, key)));
  return near.length === 0 ? NOTHING : stillHeld(holdfast, wanted, near);
}

/** Whether what is acquired here counts as the run's. A command in a run may also act under a name of its own. */
export function actsForRun(holdfast: Holdfast, { run }: Here): boolean {
  return run !== null && run.owner === holdfast.owner;
}

async function stillHeld(holdfast: Holdfast, keys: readonly Key[], kept: readonly FoundToken[]): Promise<Borrowing> {
  const tokens = new Map(kept.map((each) => [hashLeaseToken(each.lease_token), each.lease_token]));
  const held = new Set<string>();
  const lent = new Set<Key>();
  for (const key of keys) {
    const { grants } = await kernelOf(holdfast).inspect(key, [...tokens.keys()]);
    const now = kernelOf(holdfast).clock();
    for (const grant of grants) {
      const token = isExpired(grant, now) ? undefined : tokens.get(grant.tokenHash);
      if (token === undefined) continue;
      held.add(token);
      // mutant: command-on-loan: lent.add(lentKey(holdfast.owner, key)); → lent.size;
      if (isWithin(key, grant.resource)) lent.add(lentKey(holdfast.owner, key));
    }
  }
  return { presenting: [...held], lent: [...lent] };
}

/** Those of the tokens that hold something still. */
export async function heldTokens(holdfast: Holdfast, tokens: readonly FoundToken[]): Promise<readonly FoundToken[]> {
  if (tokens.length === 0) return [];
  const held = await kernelOf(holdfast).findHeld(new Set(tokens.map((each) => hashLeaseToken(each.lease_token))));
  const hashes = new Set(held.map(({ tokenHash }) => tokenHash));
  return tokens.filter((each) => hashes.has(hashLeaseToken(each.lease_token)));
}

/** `E_FORBIDDEN` inside a run for a token that is kept under another name, unless the agent was started with it. */
export function assertOwnTokens(here: Here, env: NodeJS.ProcessEnv, tokens: readonly string[]): void {
  const { run } = here;
  if (run === null) return;
  const foreign = tokens.filter((token) => !isInheritedToken(token, run));
  if (foreign.length === 0) return;
  for (const { lease_token, owner } of allTokens(tokenFolderOf(here, env))) {
    const refusal = foreign.includes(lease_token) ? forbiddenToken(owner, run) : null;
    if (refusal !== null) throw refusal;
  }
}
