/** What the commands on detached grants share: where tokens come from, and how the outcome is shown. */
import type { DetachedLease } from "../lease/detached-lease.js";
import type { Holdfast } from "../lease/holdfast.js";
import type { GrantRecord } from "../lock/grant.js";
import { type Reattached, reattachAll, type Tokens } from "../workspace/detached.js";
import { openTokenFiles, type TokenFiles } from "../workspace/token-files.js";
import type { Context, Outcome } from "./context.js";
import { grantTable } from "./grants-text.js";

export interface Taken {
  readonly holdfast: Holdfast;
  readonly files: TokenFiles;
  readonly found: readonly Reattached[];
}

export function tokenFiles(context: Context, holdfast: Holdfast): TokenFiles {
  return openTokenFiles(context.env, holdfast.storeUrl, holdfast.owner);
}

export function tokenAround({ env }: Context): string | undefined {
  return env.HOLDFAST_LEASE_TOKEN || undefined;
}

/** The detached leases that the keys of this command mean. */
export async function takeUp(context: Context, keys = context.args("KEY")): Promise<Taken> {
  const holdfast = await context.openHoldfast();
  const files = tokenFiles(context, holdfast);
  const tokens: Tokens = { said: context.flags.text("token"), around: tokenAround(context) };
  return { holdfast, files, found: await reattachAll(holdfast, files, keys, tokens) };
}

/** Does the same to each lease, and tells of all grants in the order of the keys. */
export async function forEachLease(
  context: Context,
  verb: string,
  act: (lease: DetachedLease) => Promise<void>,
): Promise<Outcome> {
  const { found } = await takeUp(context);
  for (const { lease } of found) await act(lease);
  return grantsOutcome(
    verb,
    inOrderOf(
      context.args("KEY"),
      found.flatMap(({ lease }) => lease.grants),
    ),
  );
}

export function inOrderOf(keys: readonly string[], grants: readonly GrantRecord[]): GrantRecord[] {
  return [...grants].sort((a, b) => keys.indexOf(a.resource) - keys.indexOf(b.resource));
}

/** `verb` is for people: what has been done to them. */
export function grantsOutcome(verb: string, grants: readonly GrantRecord[]): Outcome {
  return {
    data: { grants },
    text: (screen) => `${screen.paint("green", verb)}\n${grantTable(grants.map(shown), screen, 2)}`,
  };
}

/** Secrets are for `--json` alone. */
function shown(grant: GrantRecord): GrantRecord {
  return { ...grant, lease_token: undefined } as GrantRecord;
}
