/** Functions that the commands on detached grants share: they find the tokens and show the outcome. */

import { invalidArgument } from "../../../base/errors.js";
import type { Holdfast } from "../../../client/holdfast.js";
import { type Reattached, reattachAll, type Tokens } from "../../../client/workspace/detached-grants.js";
import { tokenFolderOf } from "../../../client/workspace/find-workspace.js";
import { actsForRun } from "../../../client/workspace/run-tokens.js";
import { openTokenFiles, type TokenFiles } from "../../../client/workspace/token-files.js";
import type { GrantRecord } from "../../../lock/grant.js";
import type { Mode } from "../../../lock/mode.js";
import type { BaseContext, ContextWith, Outcome } from "../command.js";
import type { Screen } from "../output/screen.js";
import { grantTable } from "./grants-text.js";

export interface Taken {
  readonly holdfast: Holdfast;
  readonly files: TokenFiles;
  readonly found: readonly Reattached[];
}

export function tokenFiles(context: BaseContext, holdfast: Holdfast): TokenFiles {
  return openTokenFiles(tokenFolderOf(context.workspace(), context.env), holdfast.owner);
}

export function tokenAround({ env }: BaseContext): string | undefined {
  return env.HOLDFAST_LEASE_TOKEN || undefined;
}

/** The keys, and the flags that say which grant on a key is meant. */
export type GrantContext = ContextWith<
  { readonly token: string | undefined; readonly fence: number | undefined },
  { readonly KEY: readonly string[] }
>;

/** All that the run of this command holds on its keys, or for others the one grant on each. */
export async function takeUpAll(context: GrantContext): Promise<Taken> {
  const holdfast = await context.openHoldfast();
  return takeUp(context, context.args.KEY, actsForRun(holdfast, context.workspace()));
}

/** The detached leases that the keys of this command mean. */
export async function takeUp(context: GrantContext, keys = context.args.KEY, all = false): Promise<Taken> {
  const tokens: Tokens = {
    all,
    said: context.flags.token,
    around: tokenAround(context),
    fence: context.flags.fence,
  };
  if (tokens.fence !== undefined && tokens.said !== undefined)
    throw invalidArgument("fence", "leave it out: --token says which grant is meant");
  if (tokens.fence !== undefined && keys.length > 1) throw invalidArgument("fence", "is for one KEY at a time");
  const holdfast = await context.openHoldfast();
  const files = tokenFiles(context, holdfast);
  return { holdfast, files, found: await reattachAll(holdfast, files, keys, tokens) };
}

export function grantsOf(found: readonly Reattached[]): GrantRecord[] {
  return found.flatMap(({ lease }) => lease.grants);
}

export function inOrderOf(keys: readonly string[], grants: readonly GrantRecord[]): GrantRecord[] {
  return [...grants].sort((a, b) => keys.indexOf(a.resource) - keys.indexOf(b.resource));
}

/** `verb` is for people: what has been done to them. */
export function grantsOutcome(verb: string, grants: readonly GrantRecord[]): Outcome {
  return { data: { grants }, text: (screen) => section(verb, grants, screen) };
}

/** Of locks that were to have another mode. Those that had it before are told apart: nothing was done to them. */
export function conversionOutcome(
  verb: string,
  mode: Mode,
  before: readonly GrantRecord[],
  grants: readonly GrantRecord[],
): Outcome {
  const had = new Set(before.filter((grant) => grant.mode === mode).map((grant) => grant.lock_id));
  const same = grants.filter((grant) => had.has(grant.lock_id));
  const converted = grants.filter((grant) => !had.has(grant.lock_id));
  const already = same.length === 1 ? `a ${mode} lock already` : `${mode} locks already`;
  return {
    data: { grants },
    text: (screen) =>
      [
        ...(converted.length === 0 ? [] : [section(verb, converted, screen)]),
        ...(same.length === 0 ? [] : [section(already, same, screen)]),
      ].join("\n"),
  };
}

function section(title: string, grants: readonly GrantRecord[], screen: Screen): string {
  return `${screen.paint("green", title)}\n${grantTable(grants.map(shown), screen, 2)}`;
}

/** Secrets are for `--json` alone. */
function shown(grant: GrantRecord): GrantRecord {
  return { ...grant, lease_token: undefined } as GrantRecord;
}
