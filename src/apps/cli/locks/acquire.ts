/**
 * Functions that `lock acquire` and `lock steal` share: they read the flags of a request, keep the token before the
 * request is sent, and show the message of a wait.
 */
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { count } from "../../../base/count-text.js";
import { given } from "../../../base/given.js";
import type { Holdfast } from "../../../client/holdfast.js";
import type { AcquireOptions } from "../../../client/options.js";
import { pathKey, pathKeyInside } from "../../../client/path-key.js";
import { acquireDetached, tokensAround } from "../../../client/workspace/detached-grants.js";
import { isLentKey } from "../../../client/workspace/lent-key.js";
import { borrowFromHook } from "../../../client/workspace/run-tokens.js";
import { treeOf } from "../../../lock/key.js";
import type { Mode } from "../../../lock/mode.js";
import { PATH_TREE } from "../../../lock/reserved-kinds.js";
import type { BaseContext, ContextWith, Outcome } from "../command.js";
import { tellingLater } from "../output/delayed-message.js";
import { span } from "../output/times.js";
import { grantsOutcome, tokenAround, tokenFiles } from "./detached-grants.js";
import { notingOwn } from "./own-grant.js";

/** The flags that `lock acquire` and `lock steal` share. */
interface RequestFlags {
  readonly mode: Mode | undefined;
  readonly ttl: string | undefined;
  readonly meta: Readonly<Record<string, string>> | undefined;
  readonly pid: number | undefined;
}

interface AcquireFlags extends RequestFlags {
  readonly wait: string | undefined;
  readonly permits: number | undefined;
  readonly token: readonly string[];
}

export async function acquireLocks(
  context: ContextWith<AcquireFlags, { readonly KEY: readonly string[] }>,
): Promise<Outcome> {
  const { flags } = context;
  const holdfast = await context.openHoldfast();
  const around = flags.token.length > 0 ? flags.token : await tokensAround(holdfast, tokenAround(context));
  const { KEY: keys } = context.args;
  const borrowed = await borrowFromHook(holdfast, context.workspace(), context.env, keys);
  const presenting = [...new Set([...around, ...borrowed.presenting])];
  const { wait, permits } = flags;
  const options = { ...requestOf(context), presenting, ...given({ wait, permits }) };
  return take("acquire", context, holdfast, [...keys, ...borrowed.lent], options);
}

export async function takeOver(context: ContextWith<RequestFlags, { readonly KEY: string }>): Promise<Outcome> {
  return take("steal", context, await context.openHoldfast(), [context.args.KEY], requestOf(context));
}

async function take(
  how: "acquire" | "steal",
  context: BaseContext,
  holdfast: Holdfast,
  keys: readonly string[],
  options: AcquireOptions,
): Promise<Outcome> {
  const files = tokenFiles(context, holdfast);
  const asked = acquireDetached(how, holdfast, files, keys, options);
  const lease = await tellingOfTheWait(context, holdfast, keys, asked).catch((error: unknown) => {
    throw notingOwn(error, holdfast.owner, files);
  });
  const named = lease.grants.filter(({ resource }) => !isLentKey(resource));
  const grants = named.map((grant) => ({ ...grant, lease_token: lease.token }));
  const outcome = grantsOutcome(how === "steal" ? "taken over" : "acquired", grants);
  return { ...outcome, notes: keys.flatMap((key) => [...remarkOn(context, key), ...remarkOnWorktree(context, key)]) };
}

/** Who types the name of a file means the lock of that file, which is the one that agents' hooks look at. */
function remarkOn(context: BaseContext, key: string): readonly string[] {
  const { root } = context.workspace();
  if (root === null) return [];
  try {
    const path = resolve(context.cwd, key);
    if (!statSync(path).isFile()) return [];
    return [`${key} is a file here, and this is not its lock: that is ${pathKey(root, path)}`];
  } catch {
    return []; // Most keys are none, or none of the workspace.
  }
}

/** In a linked worktree `path/FILE` is easily typed for the file that lies there. */
function remarkOnWorktree(context: BaseContext, key: string): readonly string[] {
  const { root, worktree } = context.workspace();
  if (root === null || worktree === null || !key.startsWith(`${PATH_TREE}/`)) return [];
  const here = pathKeyInside(root, context.cwd);
  // mutant: worktree-remark: if (here === null || treeOf(here) === PATH_TREE) return []; → if (here !== key) return [];
  if (here === null || treeOf(here) === PATH_TREE) return [];
  return [
    `${key} is the file of the main worktree; in this worktree it is ${treeOf(here)}${key.slice(PATH_TREE.length)}`,
  ];
}

function requestOf({ flags, signal }: ContextWith<RequestFlags>): AcquireOptions {
  const { mode, ttl, meta: metadata, pid } = flags;
  return { signal, ...given({ mode, ttl, metadata, pid }) };
}

/** On a terminal, whoever waits is told for whom. */
export function tellingOfTheWait<T>(
  { screen }: BaseContext,
  holdfast: Holdfast,
  keys: readonly string[],
  work: Promise<T>,
): Promise<T> {
  return tellingLater(screen, () => whoIsThere(holdfast, keys), work);
}

async function whoIsThere(holdfast: Holdfast, keys: readonly string[]): Promise<string> {
  for (const key of keys) {
    const { holders, line } = await holdfast.explainNear(key);
    const [first] = holders;
    if (first !== undefined)
      return `waiting for ${key}: ${first.owner} holds it, ${span(first.lease_remaining_s)} left${inLine(line.length - 1)} (Ctrl-C stops)`;
  }
  return `waiting for ${keys.join(", ")} (Ctrl-C stops)`;
}

function inLine(others: number): string {
  return others > 0 ? `, ${count(others, "other")} in line` : "";
}
