/**
 * Holds the board's documents and the lock store behind its claims. Every change of an issue takes these steps:
 *
 *   1  renew the claim, when the caller presents its token: use keeps it alive. A lapsed claim stays lapsed
 *   2  enter the guard of the board
 *   3  enter the guard of the lock store: with a token, its grant is current and unexpired; without one, the issue is free
 *   4  read, change, event, journal (see documents.ts): both guards are held until the record is in the journal
 *
 * No process enters the board's guard inside the lock store's, so the two cannot wait for each other.
 */
import { statSync } from "node:fs";
import type { OptionNames } from "../../base/check-options.js";
import { HoldfastError, isHoldfastError } from "../../base/errors.js";
import { given } from "../../base/given.js";
import type { Holdfast } from "../../client/holdfast.js";
import { type GrantRef, kernelOf } from "../../client/kernel.js";
import type { Contention } from "../../lock/contention.js";
import { hashLeaseToken } from "../../lock/lease-token.js";
import { type Around, type Commit, type Documents, requireRevision, type Transaction } from "../documents/documents.js";
import { logPath } from "../documents/names.js";
import { BoardFiles, issueDocument, issueOf } from "./board-files.js";
import { type BoardEventName, eventOf } from "./events.js";
import { type IssueSummary, isDue, writeIndex } from "./index-file.js";
import { type Issue, type IssuePatch, type IssueState, type IssueValue, issueKey, notFound } from "./issue.js";

export interface ChangeOptions {
  /** The lease token of the claim. */
  readonly token?: string;
  /** The revision the caller has seen. */
  readonly ifRevision?: number;
}

export const CHANGE: OptionNames<ChangeOptions> = { token: true, ifRevision: true };

/** The end of somebody's work on an issue. */
export interface EndOptions<State extends IssueState> extends ChangeOptions {
  readonly state?: State;
  /** What else is to change, in the same step. */
  readonly patch?: Omit<IssuePatch, "state">;
}

export const END: OptionNames<EndOptions<IssueState>> = { ...CHANGE, state: true, patch: true };

interface ClaimRef extends GrantRef {
  readonly leaseMs: number;
}

const EVENTS = "events";
/** Somebody who dies in the middle of a change must not look like a claimer for long. */
const MOMENT = "30s";

export class BoardStore extends BoardFiles {
  readonly holdfast: Holdfast;

  constructor(documents: Documents, holdfast: Holdfast) {
    super(documents, kernelOf(holdfast).clock);
    this.holdfast = holdfast;
  }

  get owner(): string {
    return this.holdfast.owner;
  }

  /** The one way an issue is changed: see above. Returning what was given changes nothing. */
  async change(
    id: string,
    event: BoardEventName,
    { token, ifRevision }: ChangeOptions,
    change: (issue: Issue, tx: Transaction) => IssueValue,
  ): Promise<Issue> {
    await this.#requireThere(id);
    const around = token === undefined ? this.#asAnyone(id) : await this.asClaimer(id, token);
    return this.step((commit) =>
      commit(around, (tx) => {
        const issue = this.require(tx, id);
        if (ifRevision !== undefined) requireRevision(`issue ${id}`, issue.revision, ifRevision);
        return this.put(tx, issue, change(issue, tx), event);
      }),
    );
  }

  /** `E_NOT_FOUND`. One that cannot be read is left to the step, which moves it aside. */
  async #requireThere(id: string): Promise<void> {
    const found = await this.read(id).catch((error: unknown) => {
      if (!isHoldfastError(error, "E_STORE_CORRUPT")) throw error;
    });
    if (found === null) throw notFound("issue", id);
  }

  /** A step under the board's guard that may take claims; keeps the index up. */
  async step<T>(work: (commit: Commit) => Promise<T>): Promise<T> {
    return this.documents.within(async (commit) => {
      const result = await work(commit);
      await this.#keepIndex();
      return result;
    });
  }

  /** The issue that a step is to change. `E_NOT_FOUND`, and `E_STORE_CORRUPT` after moving aside what cannot be read. */
  require(tx: Transaction, id: string): Issue {
    const issue = issueOf(tx.get<IssueValue>(issueDocument(id)), this.dir);
    if (issue === null) throw notFound("issue", id);
    return issue;
  }

  /** One that a step only looks at. `E_STORE_CORRUPT`, and it stays where it is. */
  find(tx: Transaction, id: string): Issue | null {
    // mutant: board-look-moves: tx.peek<IssueValue>(issueDocument(id)) → tx.get<IssueValue>(issueDocument(id))
    return issueOf(tx.peek<IssueValue>(issueDocument(id)), this.dir);
  }

  /** Writes it with its event; null as `before` for a new one. */
  put(tx: Transaction, before: Issue | null, after: IssueValue | Issue, event: BoardEventName): Issue {
    const { revision: _, ...value } = { revision: 0, ...after };
    if (before !== null && JSON.stringify({ ...before, revision: 0 }) === JSON.stringify({ ...value, revision: 0 }))
      return before;
    const stamped: IssueValue = { ...value, updated_at: this.now() };
    const revision = tx.put(issueDocument(value.id), stamped);
    const issue: Issue = { ...stamped, revision };
    tx.append(EVENTS, eventOf(event, before, issue, this.owner));
    return issue;
  }

  /** Renews the claim, and gives the way to commit under it. `E_LOCK_NOT_HELD`, `E_LOCK_EXPIRED`. */
  async asClaimer(id: string, token: string): Promise<Around> {
    const grant = await this.#renewed(id, token);
    return (write) => kernelOf(this.holdfast).commit([grant], write);
  }

  /**
   * Renews the claim, if there is a token, before `work` and as long as it goes on: it is a use of the claim. That it is lost
   * meanwhile is found by whoever writes next.
   */
  async keepingClaim<T>(id: string, token: string | undefined, work: () => Promise<T>): Promise<T> {
    if (token === undefined) return work();
    const { leaseMs } = await this.#renewed(id, token);
    // mutant: board-gate-claim: this.#renewed(id, token).catch(() => undefined), leaseMs → undefined, leaseMs
    const timer = setInterval(() => this.#renewed(id, token).catch(() => undefined), leaseMs / 3);
    try {
      return await work();
    } finally {
      clearInterval(timer);
    }
  }

  async #renewed(id: string, token: string): Promise<ClaimRef> {
    const grant = await this.grantOf(id, token);
    try {
      await kernelOf(this.holdfast).renew([grant], null);
    } catch (error) {
      throw isHoldfastError(error, "E_LOCK_EXPIRED") ? lapsed(id, error) : error;
    }
    return grant;
  }

  async grantOf(id: string, token: string): Promise<ClaimRef> {
    const resource = issueKey(id);
    const tokenHash = hashLeaseToken(token);
    const { grants } = await kernelOf(this.holdfast).inspect(resource, [tokenHash]);
    const grant = grants.find((each) => each.resource === resource && each.tokenHash === tokenHash);
    if (grant !== undefined) return { resource, lockId: grant.lockId, tokenHash, leaseMs: grant.leaseMs };
    const other = grants.find((each) => each.resource === resource);
    throw new HoldfastError(
      "E_LOCK_NOT_HELD",
      `your claim on issue ${id} is over${other === undefined ? "" : `; ${other.owner} has it now`}`,
      { details: { issue: id, resource }, next: [`holdfast issue claim ${id}`] },
    );
  }

  #asAnyone(id: string): Around {
    return async (write) => {
      try {
        return await this.#whileFree(id, write);
      } catch (error) {
        if (!isHoldfastError(error, "E_LOCK_CONFLICT")) throw error;
        throw claimedByAnother(id, error, [
          `holdfast lock wait ${issueKey(id)} --wait 2m`,
          "Then the same again. If the claim is yours, say so with --owner or --token.",
        ]);
      }
    };
  }

  async #whileFree<T>(id: string, write: () => T): Promise<T> {
    const kernel = kernelOf(this.holdfast);
    if (kernel.abilities.commitsFree) return kernel.commitFree([issueKey(id)], write);
    return this.holdfast.withLock(issueKey(id), { wait: 0, ttl: MOMENT }, (lease) => lease.commit(write));
  }

  /** Inside the guard. The change is made already, so a picture that cannot be taken now is no failure of it. */
  async #keepIndex(): Promise<void> {
    try {
      const seq = await this.documents.lastSeq(EVENTS);
      if (seq > 0 && isDue(this.dir, seq)) this.#writeIndex(await this.summaries(), seq);
    } catch {
      // The old picture and the events since are as good.
    }
  }

  #writeIndex(issues: ReadonlyMap<string, IssueSummary>, seq: number): void {
    writeIndex(this.dir, issues.values(), seq, statSync(logPath(this.dir, EVENTS)).size);
  }

  /** From the issues themselves; returns how many there are. */
  async rebuildIndex(): Promise<number> {
    return this.documents.within(async () => {
      const issues = await this.readAll();
      const seq = await this.documents.lastSeq(EVENTS);
      if (seq > 0) this.#writeIndex(issues, seq);
      return issues.size;
    });
  }
}

/** Without `next`, what the table of errors says of waiting. */
export function claimedByAnother(id: string, cause: HoldfastError, next?: readonly string[]): HoldfastError {
  const contention = cause.details.contention as Contention | undefined;
  return new HoldfastError("E_LOCK_CONFLICT", `issue ${id} is claimed by ${contention?.owner ?? "somebody"}`, {
    cause,
    details: { ...cause.details, issue: id },
    ...given({ next }),
  });
}

function lapsed(id: string, cause: HoldfastError): HoldfastError {
  return new HoldfastError("E_LOCK_EXPIRED", `your claim on issue ${id} has lapsed: ${cause.message}`, {
    cause,
    details: { ...cause.details, issue: id },
    next: [`holdfast issue claim ${id}`, "Then read it again before you write: nothing was written."],
  });
}
