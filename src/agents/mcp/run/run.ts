/**
 * One run of an agent: its name in the store, its locks and claims, and its current activity. When the run ends,
 * everything is released.
 */
import { join } from "node:path";
import { HoldfastError } from "../../../base/errors.js";
import { given } from "../../../base/given.js";
import { HOME } from "../../../base/home-folder.js";
import type { Holdfast } from "../../../client/holdfast.js";
import { kernelOf } from "../../../client/kernel.js";
import { openIn } from "../../../client/open-holdfast.js";
import { pathKey } from "../../../client/path-key.js";
import { borrowFromHook } from "../../../client/workspace/run-tokens.js";
import { type Board, openBoard } from "../../../features/board/board.js";
import type { Workspace } from "../../../features/configuration.js";
import { Policies } from "../../../features/policy/perform.js";
import { isFileKey } from "../../../lock/reserved-kinds.js";
import { findNewOverlaps } from "../../run/new-overlaps.js";
import { Holdings } from "./run-leases.js";

export class Run {
  /** Names it in later calls. Whoever knows it is this run. */
  readonly handle: string;
  readonly holdings: Holdings;
  readonly policies: Policies;
  #workspace: Workspace;
  readonly #env: NodeJS.ProcessEnv;
  #holdfast: Holdfast;
  /** Opened under earlier names; calls under way may still use them. */
  readonly #former: Holdfast[] = [];
  readonly #closing = new AbortController();
  readonly #underWay = new Set<Promise<unknown>>();
  #board: Board | undefined;
  /** Overlaps that the agent was told of. */
  readonly #told: string[] = [];
  #lastCallMs: number;

  constructor(handle: string, workspace: Workspace, env: NodeJS.ProcessEnv, holdfast: Holdfast) {
    const { policy, deployment } = workspace.config;
    this.handle = handle;
    this.#holdfast = holdfast;
    this.holdings = new Holdings(() => this.holdfast);
    this.policies = new Policies(given({ operations: policy, deployment }));
    this.#workspace = workspace;
    this.#env = env;
    this.#lastCallMs = this.#nowMs();
  }

  get holdfast(): Holdfast {
    return this.#holdfast;
  }

  /** From now on requests are made under this name. What is held stays held, under the name it was acquired with. */
  async actAs(owner: string, workspace: Workspace): Promise<void> {
    this.#workspace = workspace;
    if (owner === this.holdfast.owner) return;
    const next = await openAs(workspace, owner);
    this.#former.push(this.#holdfast);
    this.#holdfast = next;
    this.#board = undefined;
  }

  get board(): Board {
    this.#board ??= openBoard(this.holdfast, join(this.#root("the board is in a workspace"), HOME, "board"));
    return this.#board;
  }

  /** The keys of files, taken relative to the workspace. */
  keysOfPaths(paths: readonly string[]): readonly string[] {
    if (paths.length === 0) return [];
    const root = this.#root("paths are taken relative to a workspace");
    return paths.map((path) => pathKey(root, path));
  }

  /** The tokens with which the hook of the same agent holds these keys: the run borrows them. */
  async tokensOfHook(keys: readonly string[]): Promise<readonly string[]> {
    return (await borrowFromHook(this.holdfast, this.#workspace, this.#env, keys)).presenting;
  }

  /** Returns the overlaps that the agent was not told of, in words. One that cannot be looked up comes with a later call. */
  async newOverlaps(): Promise<readonly string[]> {
    if (!this.holdings.locks.some(({ resource }) => isFileKey(resource))) return [];
    const holder = { owner: this.holdfast.owner, hashes: this.holdings.tokenHashes };
    const found = await findNewOverlaps(kernelOf(this.holdfast), holder, this.#told).catch(() => null);
    this.#told.push(...(found?.told ?? []));
    return found?.lines ?? [];
  }

  /** True when it holds nothing and has not been heard of for so long. */
  isIdle(forMs: number): boolean {
    const isQuiet = this.#underWay.size === 0 && this.#nowMs() - this.#lastCallMs > forMs;
    return isQuiet && this.holdings.hasLapsed;
  }

  /** Does a call of the agent: renews what it holds first, and ends with the run. */
  async during<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    this.#closing.signal.throwIfAborted();
    this.#lastCallMs = this.#nowMs();
    const both = AbortSignal.any([signal, this.#closing.signal]);
    const doing = this.holdings.renewDue().then(() => work(both));
    this.#underWay.add(doing);
    try {
      return await doing;
    } finally {
      this.#underWay.delete(doing);
      this.#lastCallMs = this.#nowMs();
    }
  }

  /** Ends what waits, gives claims and locks back, and lets the store go. */
  async close(): Promise<void> {
    this.#closing.abort(new HoldfastError("E_LOCK_NOT_HELD", "the run has ended"));
    await Promise.allSettled(this.#underWay);
    for (const issue of this.holdings.issues) await this.#giveBack(issue);
    // mutant: mcp-given-back: await this.holdings.release(null).catch(() => undefined); →
    await this.holdings.release(null).catch(() => undefined);
    for (const holdfast of [...this.#former, this.#holdfast]) await holdfast.close();
  }

  async #giveBack(issue: string): Promise<void> {
    try {
      const token = this.holdings.claimToken(issue);
      if (token !== undefined) await this.board.release(issue, { token });
    } catch {
      // Lost, or the store is away: the claim ends with this process.
    }
  }

  #nowMs(): number {
    return kernelOf(this.holdfast).clock().bootMs;
  }

  #root(why: string): string {
    const { root } = this.#workspace;
    if (root !== null) return root;
    throw new HoldfastError("E_CONFIG", `${why}, and this server has only a store`, {
      reason: "no_workspace",
      details: { field: "root" },
      next: ["Start the server with --root DIR, or name keys instead."],
    });
  }
}

export async function openRun(
  handle: string,
  workspace: Workspace,
  env: NodeJS.ProcessEnv,
  owner: string,
): Promise<Run> {
  const holdfast = await openAs(workspace, owner);
  try {
    return new Run(handle, workspace, env, holdfast);
  } catch (error) {
    await holdfast.close();
    throw error;
  }
}

/** Everything is held detached, so nothing is renewed by itself. */
function openAs(workspace: Workspace, owner: string): Promise<Holdfast> {
  return openIn(workspace, { owner, heart: "loop" });
}
