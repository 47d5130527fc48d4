/**
 * Functions that the commands of the board share: they open the board, find the token that allows a change of an issue,
 * and show an issue.
 */
import { join } from "node:path";
import { HoldfastError, isHoldfastError } from "../../../base/errors.js";
import { given } from "../../../base/given.js";
import { HOME } from "../../../base/home-folder.js";
import type { Holdfast } from "../../../client/holdfast.js";
import type { TokenFiles } from "../../../client/workspace/token-files.js";
import {
  type Board,
  type BoardReader,
  type ChangeOptions,
  type Issue,
  openBoard,
  openBoardReader,
} from "../../../features/board/board.js";
import { issueKey, parseIssueId } from "../../../features/board/issue.js";
import type { BaseContext, ContextWith } from "../command.js";
import { tokenAround, tokenFiles } from "../locks/detached-grants.js";
import { notingOwn } from "../locks/own-grant.js";

export interface OpenBoard {
  readonly board: Board;
  readonly holdfast: Holdfast;
  readonly files: TokenFiles;
}

/** The board of the workspace, to change it. */
export async function openTheBoard(context: BaseContext): Promise<OpenBoard> {
  const holdfast = await context.openHoldfast();
  return { holdfast, board: openBoard(holdfast, boardFolder(context)), files: tokenFiles(context, holdfast) };
}

/** The same to look at it: the store of locks is not even opened. */
export function readTheBoard(context: BaseContext): BoardReader {
  return openBoardReader(boardFolder(context));
}

function boardFolder(context: BaseContext): string {
  const { root } = context.workspace();
  if (root !== null) return join(root, HOME, "board");
  throw new HoldfastError("E_CONFIG", "the board is in a workspace, and there is none here", {
    reason: "no_workspace",
    details: { field: "root" },
    next: ["holdfast init"],
  });
}

/** The issue to change, and the flags that say under which conditions. */
export type ChangeContext = ContextWith<
  { readonly token: string | undefined; readonly "if-revision"?: number | undefined },
  { readonly ID: string }
>;

/**
 * Changes an issue with the claim the caller has on it, if any: the token said, the one around if it holds the issue, or
 * the one kept for this user and owner. A kept one whose claim is over is refused once, so that whoever lost it learns of
 * it, and forgotten; one that is only asked for, by a claim that stands in line, is left alone.
 */
export async function changing<T>(
  context: ChangeContext,
  { holdfast, files }: OpenBoard,
  change: (id: string, options: ChangeOptions) => Promise<T>,
): Promise<T> {
  const id = parseIssueId(context.args.ID);
  const key = issueKey(id);
  const token = context.flags.token ?? (await heldToken(context, holdfast, files, key));
  try {
    return await change(id, given({ token, ifRevision: context.flags["if-revision"] }));
  } catch (error) {
    if (token !== undefined && isHoldfastError(error, "E_LOCK_NOT_HELD")) files.forget([key], token);
    throw error;
  }
}

/** The issue after a change, and whether it is another one now: what stayed as it was has the revision it had. */
export async function changed(
  context: ChangeContext,
  opened: OpenBoard,
  change: (id: string, options: ChangeOptions) => Promise<Issue>,
): Promise<{ readonly issue: Issue; readonly isChanged: boolean }> {
  const before = await opened.board.get(context.args.ID).catch(() => null);
  const issue = await changing(context, opened, change);
  return { issue, isChanged: issue.revision !== before?.revision };
}

async function heldToken(
  context: BaseContext,
  holdfast: Holdfast,
  files: TokenFiles,
  key: string,
): Promise<string | undefined> {
  const around = tokenAround(context);
  const found = files.find(key);
  const kept = found.map((each) => each.lease_token);
  for (const token of around === undefined ? kept : [around, ...kept])
    if (await opens(holdfast, key, token)) return token;
  // mutant: token-in-line: found.find((each) => each.state === "given")?.lease_token → found[0]?.lease_token
  return found.find((each) => each.state === "given")?.lease_token;
}

async function opens(holdfast: Holdfast, key: string, token: string): Promise<boolean> {
  try {
    await holdfast.borrow(key, token);
    return true;
  } catch (error) {
    if (isHoldfastError(error, "E_LOCK_NOT_HELD")) return false;
    throw error;
  }
}

/** Keeps the token of a claim while it is made, and forgets it when it is not; an error alone does not say that it was not. */
export async function keepingToken<T>(
  { files, holdfast }: OpenBoard,
  claim: (keepToken: (token: string, id: string) => void) => Promise<T & { readonly token?: string }>,
): Promise<T & { readonly token?: string }> {
  const kept: { key: string; token: string }[] = [];
  try {
    const claimed = await claim((token, id) => {
      files.keep([issueKey(id)], token, new Date());
      kept.push({ key: issueKey(id), token });
    });
    for (const { key, token } of kept)
      if (token === claimed.token) files.noteGiven([key], token);
      else files.forget([key], token);
    return claimed;
  } catch (error) {
    // mutant: token-of-a-failed-claim: .catch(() => true) → .catch(() => false)
    for (const { key, token } of kept)
      if (!(await opens(holdfast, key, token).catch(() => true))) files.forget([key], token);
    throw notingOwn(error, holdfast.owner, files);
  }
}
