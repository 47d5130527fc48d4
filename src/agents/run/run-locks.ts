/**
 * Acquires and keeps the locks of an agent's run on files. Each is a detached grant of the run's owner, its token kept
 * for the user: so every hook process of the run finds it again, and no other run does.
 *
 * `hold(keys)` makes sure that the run holds them, all or none:
 *
 *   1. A grant that it already has, on the key or above it, counts while no other holder has anything there and while the
 *      process that the grant is bound to is not dead. One request acquires the rest.
 *   2. The run's commands act under its name (client/workspace/owner.ts): what they acquired and keep a token of counts as
 *      the run's own.
 *   3. The run that it works for (the one around a sub-agent, or the one whose command started this agent) lends it what
 *      that run holds (lending.ts). The borrower then holds `lent:files/LENDER/…` of the file
 *      instead. So borrowers of one run exclude each other, and the lender too, which checks that key before it writes. The
 *      loan counts only after a second check, because the lender may have released the file in the meantime.
 *   4. Grants that the agent acquired through its own MCP server are lent to it in the same way: the hook has no token.
 *   5. A folder around the file that its `_LOCK.json` says is held under another name is a refusal, also where the run holds
 *      the file already.
 *   6. Two hooks of one run may request the same key at once. The second one checks again, also while it waits in the queue
 *      (wait-unless-changed.ts), and finds the key held.
 */
import { isDeepStrictEqual } from "node:util";
import { HoldfastError, isHoldfastError } from "../../base/errors.js";
import { sleep } from "../../base/sleep.js";
import type { Holdfast } from "../../client/holdfast.js";
import { type Kernel, kernelOf } from "../../client/kernel.js";
import type { Lease } from "../../client/lease/lease.js";
import { type AcquireOptions, parseWait } from "../../client/options.js";
import { acquireDetached } from "../../client/workspace/detached-grants.js";
import { isLentKey, lentKey } from "../../client/workspace/lent-key.js";
import { isOfRun } from "../../client/workspace/run-name.js";
import {
  allTokens,
  type FoundToken,
  openTokenFiles,
  type TokenFiles,
  tokensOf,
} from "../../client/workspace/token-files.js";
import type { TokenFolder } from "../../client/workspace/token-folder.js";
import { contentionReport } from "../../lock/contention.js";
import type { Grant } from "../../lock/grant.js";
import { isWithin, type Key, MAX_KEYS, parseKey } from "../../lock/key.js";
import { hashLeaseToken } from "../../lock/lease-token.js";
import { isExpired } from "../../lock/profile.js";
import { isFileKey } from "../../lock/reserved-kinds.js";
import { remainingMs } from "../../lock/time.js";
import { lifeByPid } from "../../platform/liveness/liveness.js";
import { isServerOf } from "../hooks/own-server.js";
import { FILES, giveBack } from "./lending.js";
import { findNewOverlaps, type NewOverlaps } from "./new-overlaps.js";
import { isSubAgent, type Run } from "./run.js";
import { unlessChanged } from "./wait-unless-changed.js";

/** Gives back what one request acquired. What a run held before stays. */
export type Undo = () => Promise<void>;

const nothingToUndo: Undo = async () => undefined;

export interface RunPlace {
  /** Opened in the run's name. */
  readonly holdfast: Holdfast;
  readonly folder: TokenFolder;
  readonly run: Run;
  /** The agent's process, when it is known. */
  readonly pid: number | null;
  readonly ttl: string | undefined;
  readonly wait: string | undefined;
  /** Renewed when less than this share of the lease is left. Default two thirds. */
  readonly renewBelow?: number;
}

/** A sibling hook may be half-way through the same request. */
const LOOKS = 5;
/** How long a sibling hook may be in the way that passes over the whole tree, as this one does. */
const PASSING_MS = 2_000;
const LOOK_AGAIN_MS = 20;
const RENEW_BELOW = 2 / 3;

export class RunLocks {
  readonly #place: RunPlace;
  readonly #files: TokenFiles;

  constructor(place: RunPlace) {
    this.#place = place;
    this.#files = openTokenFiles(place.folder, place.holdfast.owner, "hook");
  }

  get #kernel(): Kernel {
    return kernelOf(this.#place.holdfast);
  }

  /**
   * Returns a function that gives back what was acquired. Throws `E_LOCK_CONFLICT` or `E_LOCK_TIMEOUT` with the contention
   * report when another owner has one of them.
   */
  async hold(keys: readonly Key[]): Promise<Undo> {
    const wanted = withoutCovered(keys);
    // mutant: hook-folder-lock: this.#kernel.assertFoldersFree(wanted); →
    this.#kernel.assertFoldersFree(wanted);
    const until = performance.now() + parseWait(this.#place.wait ?? 0);
    for (let looks = LOOKS; looks > 0; ) {
      const found = await this.#whatIsMissing(wanted);
      const { missing, presenting } = found;
      if (missing.length === 0) return nothingToUndo;
      if (missing.length > MAX_KEYS) throw tooMany(missing.length);
      const request = { presenting, wait: leftUntil(until), metadata: { hook: this.#place.run.owner } };
      try {
        const lease = await unlessChanged(
          // mutant: hook-waits-for-itself: (await this.#whatIsMissing(wanted), found) → (found, found)
          async () => isDeepStrictEqual(await this.#whatIsMissing(wanted), found),
          (signal) => this.#acquire(missing, { ...request, signal }),
        );
        if (lease === null) continue; // That took time, of which there is only so much.
        // mutant: hook-lent-late: if (!missing.some(isLentKey)) return () => → return () =>
        if (!missing.some(isLentKey)) return () => this.#undo(lease);
      } catch (error) {
        if (looks === 1 || !(await this.#mayHaveChanged(error))) throw error;
      }
      looks -= 1;
    }
    throw this.#conflict(keys[0] ?? FILES, []);
  }

  async #undo(lease: Lease): Promise<void> {
    await lease.release().catch(() => undefined);
    this.#files.forget(lease.keys, lease.token);
  }

  /**
   * Nobody else may hold anything in the tree right now: what comes changes files that it does not name. The lock is this
   * process's own and gone in a moment, so a sibling that does the same is not in the way for long.
   */
  async holdNothingElse(tree: Key): Promise<void> {
    for (const until = performance.now() + PASSING_MS; ; await sleep(LOOK_AGAIN_MS))
      try {
        return await this.#passOver(tree);
      } catch (error) {
        // mutant: hook-passes-siblings: if (performance.now() > until || → if (performance.now() < until ||
        if (performance.now() > until || !(await this.#mayHaveChanged(error))) throw error;
      }
  }

  async #passOver(tree: Key): Promise<void> {
    const own = this.#tokens();
    const held = new Set((await this.#held(own)).map((each) => each.tokenHash));
    for (const lender of [this.#place.run.owner, ...this.#lenders()]) {
      const others = (await this.#borrowers(lender, tree)).filter(({ tokenHash }) => !held.has(tokenHash));
      // mutant: hook-lent-whole-tree: if (others.length > 0) throw this.#conflict(tree, others); →
      if (others.length > 0) throw this.#conflict(tree, others);
    }
    const presenting = [...new Set(own.map((each) => each.lease_token))].filter((each) =>
      held.has(hashLeaseToken(each)),
    );
    await using _passing = await this.#place.holdfast.acquire(tree, { presenting, wait: this.#place.wait ?? 0 });
  }

  /**
   * Renews what is not fresh, a sub-agent also what its run holds: the run waits for it meanwhile, and tells nothing. What
   * is lost already is none of our business: the next write asks anew.
   */
  async renew(): Promise<void> {
    const { run } = this.#place;
    // mutant: hook-sub-agent-renews: ...(isSubAgent(run) ? this.#keptFor([run.main]) : [])]; → ];
    const tokens = [...this.#ownTokens(), ...(isSubAgent(run) ? this.#keptFor([run.main]) : [])];
    const hashes = new Set(tokens.map((each) => hashLeaseToken(each.lease_token)));
    const keys = new Set(tokens.map((each) => parseKey(each.resource)));
    for (const key of keys) {
      const { grants } = await this.#kernel.inspect(key, [...hashes]);
      await this.#renew(grants.filter((grant) => grant.resource === key && hashes.has(grant.tokenHash)));
    }
  }

  /** Returns the overlaps of what it holds that are not among `told`, and puts them on record. */
  async newOverlaps(told: readonly string[]): Promise<NewOverlaps> {
    const hashes = this.#ownTokens().map((each) => hashLeaseToken(each.lease_token));
    return findNewOverlaps(this.#kernel, { owner: this.#place.run.owner, hashes }, told);
  }

  /**
   * Gives everything back but deliverable folders, whose locks end by themselves; the main run gives back what its sub-agents
   * have first. Returns how many.
   */
  async release(): Promise<number> {
    const { folder, run } = this.#place;
    const all = isSubAgent(run)
      ? this.#ownTokens()
      : allTokens(folder).filter((kept) => isOfFiles(kept) && isOfRun(kept.owner, run.main));
    // mutant: hook-ends-deliverable: ({ taken_by }) => taken_by !== "deliverable" → () => true
    const ending = all.filter(({ taken_by }) => taken_by !== "deliverable");
    const innerFirst = [...ending].sort(
      (a, b) => b.owner.length - a.owner.length || (a.created_at < b.created_at ? 1 : -1),
    );
    let released = 0;
    for (const owner of new Set(innerFirst.map((kept) => kept.owner)))
      released += await giveBack(
        this.#place,
        owner,
        innerFirst.filter((kept) => kept.owner === owner),
      );
    return released;
  }

  async #whatIsMissing(keys: readonly Key[]): Promise<{ missing: Key[]; presenting: string[] }> {
    const missing: Key[] = [];
    const presenting = new Set<string>();
    const tokens = new Map(this.#tokens().map((each) => [hashLeaseToken(each.lease_token), each]));
    for (const key of keys) {
      const here = await this.#look(key, tokens);
      const lender = here.lent.find((grant) => isWithin(key, grant.resource))?.owner;
      const wanted = lender === undefined ? key : lentKey(lender, key);
      const there = lender === undefined ? here : await this.#look(wanted, tokens);
      const inTheWay = lender === undefined ? await this.#otherBorrowers(key, tokens) : there.others;
      // mutant: hook-borrowers: if (inTheWay.length > 0) throw this.#conflict(key, inTheWay); →
      if (inTheWay.length > 0) throw this.#conflict(key, inTheWay);
      if (there.others.length === 0 && there.own.some((grant) => isWithin(wanted, grant.resource))) continue;
      missing.push(wanted);
      for (const { tokenHash } of there.own) presenting.add(tokens.get(tokenHash)?.lease_token ?? "");
    }
    return { missing, presenting: [...presenting] };
  }

  /** What is alive around a key: the run's own, what it works under, and what is neither. */
  async #look(key: Key, tokens: ReadonlyMap<string, FoundToken>) {
    const lenders = this.#lenders();
    const { grants } = await this.#kernel.inspect(key, [...tokens.keys()]);
    const live = grants.filter((grant) => this.#isLive(grant));
    const isOwn = ({ tokenHash }: Grant): boolean =>
      tokens.has(tokenHash) && !lenders.includes(tokens.get(tokenHash)?.owner ?? "");
    const isLent = (grant: Grant): boolean =>
      tokens.has(grant.tokenHash) ? !isOwn(grant) : this.#isOfOwnServer(grant);
    const isWrite = ({ mode, permits }: Grant): boolean => mode === "write" && permits === null;
    return {
      own: live.filter((grant) => isOwn(grant) && isWrite(grant)),
      lent: live.filter((grant) => isLent(grant) && isWrite(grant)),
      others: live.filter((grant) => !isOwn(grant) && !isLent(grant)),
    };
  }

  #isOfOwnServer({ proof }: Grant): boolean {
    const { pid } = this.#place;
    return pid !== null && proof.kind === "pid" && isServerOf(proof.pid, [pid]);
  }

  /** Borrowers of this run's file, but for commands of the run whose tokens it has. */
  async #otherBorrowers(key: Key, tokens: ReadonlyMap<string, FoundToken>): Promise<readonly Grant[]> {
    const { owner } = this.#place.run;
    const known = [...tokens.values()].filter((each) => each.owner === owner);
    const own = new Set(known.map((each) => hashLeaseToken(each.lease_token)));
    return (await this.#borrowers(owner, key, [...own])).filter(({ tokenHash }) => !own.has(tokenHash));
  }

  /** Who writes this file right now under what the owner has lent. */
  async #borrowers(owner: string, key: Key, known: readonly string[] = []): Promise<readonly Grant[]> {
    if (!isFileKey(key)) return [];
    const { grants } = await this.#kernel.inspect(lentKey(owner, key), known);
    return grants.filter((grant) => this.#isLive(grant));
  }

  #conflict(key: Key, holders: readonly Grant[]): HoldfastError {
    const contention = contentionReport(key, holders, [], this.#kernel.clock());
    return new HoldfastError("E_LOCK_CONFLICT", `${key} is not free`, { details: { resource: key, contention } });
  }

  /** A grant that anybody may end is not held, whatever its record says. */
  #isLive(grant: Grant): boolean {
    const now = this.#kernel.clock();
    if (isExpired(grant, now)) return false;
    // mutant: hook-dead-process: return lifeByPid(grant, grant.renewedAt, now) !== "dead"; → return lifeByPid(grant, grant.renewedAt, now) !== undefined;
    return lifeByPid(grant, grant.renewedAt, now) !== "dead";
  }

  async #renew(grants: readonly Grant[]): Promise<void> {
    const { renewBelow = RENEW_BELOW } = this.#place;
    const now = this.#kernel.clock();
    const due = grants.filter(({ renewedAt, leaseMs }) => remainingMs(renewedAt, leaseMs, now) < leaseMs * renewBelow);
    for (const { resource, lockId, tokenHash } of due)
      try {
        await this.#kernel.renew([{ resource, lockId, tokenHash }], null);
      } catch (error) {
        if (!isHoldfastError(error, "E_LOCK_NOT_HELD") && !isHoldfastError(error, "E_LOCK_EXPIRED")) throw error;
      }
  }

  #acquire(keys: readonly Key[], options: AcquireOptions) {
    const { holdfast, pid, ttl } = this.#place;
    return acquireDetached("acquire", holdfast, this.#files, keys, {
      ...options,
      ...(pid === null ? {} : { pid }),
      ...(ttl === undefined ? {} : { ttl }),
    });
  }

  /** Whether looking again may find something else: a token that was just given back, or a sibling's fresh grant. */
  async #mayHaveChanged(error: unknown): Promise<boolean> {
    if (isHoldfastError(error, "E_LOCK_NOT_HELD")) return true;
    if (!isHoldfastError(error, "E_LOCK_CONFLICT") && !isHoldfastError(error, "E_LOCK_TIMEOUT")) return false;
    const contention = error.details.contention as { holders?: readonly { owner: string }[] } | undefined;
    return contention?.holders?.some(({ owner }) => owner === this.#place.run.owner) ?? false;
  }

  async #held(tokens: readonly FoundToken[]) {
    const hashes = new Set(tokens.map((each) => hashLeaseToken(each.lease_token)));
    return hashes.size === 0 ? [] : this.#kernel.findHeld(hashes);
  }

  #tokens(): readonly FoundToken[] {
    return [...this.#ownTokens(), ...this.#keptFor(this.#lenders())];
  }

  #ownTokens(): readonly FoundToken[] {
    return this.#keptFor([this.#place.run.owner]);
  }

  /** Runs that this one works for: the one around a sub-agent, and those whose commands started the agent. */
  #lenders(): readonly string[] {
    const { run } = this.#place;
    return [...(isSubAgent(run) ? [run.main] : []), ...run.around];
  }

  #keptFor(owners: readonly string[]): readonly FoundToken[] {
    return owners.flatMap((owner) => tokensOf(this.#place.folder, owner)).filter(isOfFiles);
  }
}

function leftUntil(ms: number): number {
  return Math.max(0, Math.floor(ms - performance.now()));
}

function isOfFiles({ resource }: FoundToken): boolean {
  return isFileKey(resource) || isLentKey(resource);
}

function tooMany(count: number): HoldfastError {
  return new HoldfastError("E_INVALID_ARGUMENT", `${count} files at once are more than ${MAX_KEYS}`, {
    details: { field: "files" },
    next: [`Do it in parts, of at most ${MAX_KEYS} files each.`],
  });
}

/** A key below another in the list needs no lock of its own. */
function withoutCovered(keys: readonly Key[]): Key[] {
  const all = [...new Set(keys)];
  return all.filter((key) => !all.some((other) => other !== key && isWithin(key, other)));
}
