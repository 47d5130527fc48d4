/**
 * Claims: a detached lease on `issue:ID` in the lock store, and in the issue the owner that has it.
 *
 * The lease decides. It is acquired first, and the issue is written under it; a crash in between leaves a lease whose token
 * is lost, and which expires. A release goes the other way round: the issue is written under the lease, then the lease is
 * released; a crash in between again leaves a lease that expires.
 */

import type { OptionNames } from "../../base/check-options.js";
import { type Duration, parseDuration } from "../../base/duration.js";
import { HoldfastError, isHoldfastError } from "../../base/errors.js";
import { given } from "../../base/given.js";
import { kernelOf } from "../../client/kernel.js";
import type { Lease } from "../../client/lease/lease.js";
import type { Grant } from "../../lock/grant.js";
import { isExpired } from "../../lock/profile.js";
import { lifeByPid } from "../../platform/liveness/liveness.js";
import { thisMachine } from "../../platform/machine.js";
import type { Around, Commit, Transaction } from "../documents/documents.js";
import { isUnreadable } from "./board-files.js";
import { type BoardStore, claimedByAnother, type EndOptions } from "./board-store.js";
import type { IssueSummary } from "./index-file.js";
import { type Issue, type IssueState, isClosed, issueKey, notFound } from "./issue.js";
import { dependsOnNothingOpen, isReady, orderBy } from "./query.js";
import { patched } from "./rules.js";

/** A claim just taken. The token proves it; it is told once. */
export interface Claimed {
  readonly issue: Issue;
  readonly token: string;
  readonly lease_expires_at: string;
}

export interface ClaimOptions {
  /** How long it lasts without use. Default 15 min. */
  readonly ttl?: Duration;
  /** How long to wait for another claim to end. Default 0. */
  readonly wait?: Duration;
  readonly signal?: AbortSignal;
  /** Binds the claim to the life of a process: it ends with it, even before its time. */
  readonly pid?: number;
  /** Called with the lease token just before the claim is made, so that a crash cannot lose it. */
  readonly keepToken?: (token: string) => void;
}

export interface NextOptions extends Pick<ClaimOptions, "ttl" | "pid"> {
  /** As in `ClaimOptions`, with the issue that is tried. */
  readonly keepToken?: (token: string, id: string) => void;
  readonly labels?: readonly string[];
  readonly assignee?: string;
}

export const CLAIM: OptionNames<ClaimOptions> = { ttl: true, wait: true, signal: true, pid: true, keepToken: true };
export const NEXT: OptionNames<NextOptions> = { ttl: true, pid: true, keepToken: true, labels: true, assignee: true };

export async function claim(board: BoardStore, id: string, options: ClaimOptions): Promise<Claimed> {
  if ((await board.read(id)) === null) throw notFound("issue", id);
  const write = (commit: Commit, lease: Lease): Promise<Claimed> =>
    orGiveBack(lease, async () => ({
      ...told(lease),
      issue: await commit(under(lease), (tx) => {
        const issue = board.require(tx, id);
        if (isClosed(issue)) throw closed(issue);
        return claimed(board, tx, issue, lease);
      }),
    }));
  // Who waits must not do so under the guard. Who does not wait asks under it: a store without `commitsFree` locks the
  // issue for each change by anyone, and nobody shall meet that lock and take it for a claim.
  if (!isPatient(options)) return board.step(async (commit) => write(commit, await take(board, id, options)));
  const lease = await take(board, id, options);
  return orGiveBack(lease, () => board.step((commit) => write(commit, lease)));
}

function isPatient({ wait = 0 }: ClaimOptions): boolean {
  return parseDuration(wait, "wait", { atLeastMs: 0, atMostMs: Number.MAX_SAFE_INTEGER }) > 0;
}

/**
 * The best issue that can be begun, claimed in one step under the board's guard, or null when there is none. Ready ones
 * first, then those whose claim has lapsed or whose claimer has died.
 */
export async function claimNext(board: BoardStore, options: NextOptions): Promise<Claimed | null> {
  const candidates = await candidatesFor(board, options);
  if (candidates.length === 0) return null;
  return board.step(async (commit) => {
    for (const { id } of candidates) {
      const got = await tryClaim(board, commit, id, options);
      if (got !== null) return got;
    }
    return null;
  });
}

/** In the order in which they should be begun. Takes no lock: whoever claims one looks again. */
export async function candidatesFor(board: BoardStore, options: NextOptions): Promise<readonly IssueSummary[]> {
  const { labels = [], assignee } = options;
  const all = await board.summaries();
  const fits = [...all.values()]
    .filter((issue) => labels.every((label) => issue.labels.includes(label)))
    .filter((issue) => assignee === undefined || issue.assignee === assignee);
  const ready = fits.filter((issue) => isReady(issue, all)).sort(orderBy("priority"));
  const begun = fits.filter((issue) => issue.state === "in_progress" && dependsOnNothingOpen(issue, all));
  const lapsed: IssueSummary[] = [];
  for (const issue of begun.sort(orderBy("priority"))) if (await isUnclaimed(board, issue.id)) lapsed.push(issue);
  return [...ready, ...lapsed];
}

async function isUnclaimed(board: BoardStore, id: string): Promise<boolean> {
  const kernel = kernelOf(board.holdfast);
  const { grants, unreadable } = await kernel.inspect(issueKey(id));
  const now = kernel.clock();
  // mutant: board-dead-claimer: isExpired(grant, now) || hasDied(grant) → isExpired(grant, now)
  return unreadable.length === 0 && grants.every((grant) => isExpired(grant, now) || hasDied(grant));
}

/** Its claimer's process. Elsewhere, or without one, only the lease counts. */
function hasDied(grant: Grant): boolean {
  return lifeByPid(grant, grant.renewedAt, thisMachine()) === "dead";
}

async function tryClaim(board: BoardStore, commit: Commit, id: string, options: NextOptions): Promise<Claimed | null> {
  if (!(await canBegin(board, id))) return null;
  let lease: Lease;
  try {
    const { ttl, pid, keepToken } = options;
    lease = await take(board, id, {
      ...given({ pid, ttl }),
      ...(keepToken === undefined ? {} : { keepToken: (token: string) => keepToken(token, id) }),
    });
  } catch (error) {
    if (error instanceof HoldfastError && error.code === "E_LOCK_CONFLICT") return null;
    throw error;
  }
  return orGiveBack(lease, async () => ({
    ...told(lease),
    issue: await commit(under(lease), (tx) => claimed(board, tx, board.require(tx, id), lease)),
  }));
}

/** Under the guard, by the files themselves. One that cannot be read is passed over: it must not stop all others. */
async function canBegin(board: BoardStore, id: string): Promise<boolean> {
  const issue = await readable(board, id);
  if (issue === null || (issue.state !== "ready" && issue.state !== "in_progress")) return false;
  const dependencies = await Promise.all(issue.dependencies.map((each) => readable(board, each)));
  return dependencies.every((dependency) => dependency !== null && isClosed(dependency));
}

async function readable(board: BoardStore, id: string): Promise<Issue | null> {
  try {
    return await board.read(id);
  } catch (error) {
    // mutant: board-unreadable-next: if (isUnreadable(error)) return null; →
    if (isUnreadable(error)) return null;
    throw error;
  }
}

/** Gives a claim back. The issue becomes `ready` again unless another state is given. */
export async function release(board: BoardStore, id: string, options: EndOptions<IssueState>): Promise<Issue> {
  const { token, patch } = options;
  if (token === undefined) throw notClaimed(id, await board.read(id));
  const issue = await board.change(id, "released", options, (found, tx) => {
    const state = options.state ?? (found.state === "in_progress" ? "ready" : found.state);
    // mutant: board-release-done: found, { ...patch, state }), assignee → found, patch ?? {}), state, assignee
    return { ...patched(board, tx, found, { ...patch, state }), assignee: null, claim: null };
  });
  await letGo(board, id, token);
  return issue;
}

/** The lease alone. The issue has been written under it, so one that is gone by now is no failure. */
export async function letGo(board: BoardStore, id: string, token: string): Promise<void> {
  const kernel = kernelOf(board.holdfast);
  try {
    await kernel.release([await board.grantOf(id, token)]);
  } catch (error) {
    if (!isHoldfastError(error, "E_LOCK_NOT_HELD")) throw error;
  }
}

async function take(board: BoardStore, id: string, options: ClaimOptions): Promise<Lease> {
  const { ttl, wait = 0, signal, pid, keepToken } = options;
  const taking = board.holdfast.acquire(issueKey(id), {
    detached: true,
    wait,
    metadata: { issue: id },
    ...given({ ttl, signal, pid, keepToken }),
  });
  return taking.catch((error: unknown) => {
    throw isHoldfastError(error, "E_LOCK_CONFLICT") ? claimedByAnother(id, error) : error;
  });
}

function under(lease: Lease): Around {
  return (write) => lease.commit(write);
}

function claimed(board: BoardStore, tx: Transaction, issue: Issue, lease: Lease): Issue {
  const { owner } = board;
  const claim = { owner, fencing_token: lease.fencingToken, since: board.now() };
  return board.put(tx, issue, { ...issue, state: "in_progress", assignee: owner, claim }, "claimed");
}

function told(lease: Lease): Pick<Claimed, "token" | "lease_expires_at"> {
  return { token: lease.token, lease_expires_at: lease.grants[0]?.lease_expires_at ?? "" };
}

async function orGiveBack<T>(lease: Lease, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    await lease.release().catch(() => undefined);
    throw error;
  }
}

function notClaimed(id: string, issue: Issue | null): HoldfastError {
  if (issue === null) return notFound("issue", id);
  const message =
    issue.claim === null
      ? `nobody has claimed issue ${id}`
      : `issue ${id} is claimed by ${issue.claim.owner}: only its claimer releases it, and no token was given`;
  return new HoldfastError("E_LOCK_NOT_HELD", message, { details: { issue: id }, next: [`holdfast issue show ${id}`] });
}

function closed({ id, state }: Issue): HoldfastError {
  return new HoldfastError("E_GATE_BLOCKED", `issue ${id} is ${state}: there is nothing to claim`, {
    details: { issue: id, state },
    next: [`holdfast issue update ${id} --state ready`],
  });
}
