/**
 * Keeps the runs of this server. Over stdio the connection is the agent's run, opened by its first call, and sub-agents
 * that share the connection request a run of their own. Over HTTP agents differ only by what they send, so the first
 * lock opens a run, and its handle names the run from then on.
 */
import { randomBytes } from "node:crypto";
import { HoldfastError, invalidArgument } from "../../../base/errors.js";
import type { Said } from "../../../client/workspace/find-workspace.js";
import { recordClaim } from "../../../client/workspace/refused-claims.js";
import { subAgentName } from "../../../client/workspace/run-name.js";
import { findWorkspace, type Workspace } from "../../../features/configuration.js";
import { isPerson } from "../../../lock/owner.js";
import { openRun, type Run } from "./run.js";

/** What a tool needs a run for: to look, to hold something new, or for what the run holds already. */
export type Purpose = "look" | "take" | "held";

export interface RunsOptions {
  readonly said: Said;
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** The connection is one agent's: stdio. */
  readonly isOneAgents: boolean;
}

const NEW = "new";
const MAX_RUNS = 256;
const FORGOTTEN_AFTER_MS = 10 * 60_000;

export class Runs {
  readonly #options: RunsOptions;
  readonly #open = new Map<string, Run>();
  /** The connection's own run; over HTTP the one that only looks. */
  #own: Promise<Run> | undefined;
  #isClosed = false;

  constructor(options: RunsOptions) {
    if (isPerson(options.said.owner ?? ""))
      throw invalidArgument(
        "owner",
        `${options.said.owner} is a person, and this server acts for an agent`,
        "Say --owner agent:NAME, or leave it out.",
      );
    this.#options = options;
  }

  /**
   * Does something for the run that is named, or for the one that not naming any means; `name` is its handle when it is
   * told for the first time. A run that was begun for this and holds nothing afterwards is over. `E_CONFIG` while there is
   * no workspace, `E_NOT_FOUND` for a run that is over, `E_INVALID_ARGUMENT`.
   */
  async during<T>(
    handle: string | undefined,
    purpose: Purpose,
    client: string,
    work: (run: Run, name: string | undefined) => Promise<T>,
  ): Promise<T> {
    await this.#closeForgotten();
    if (handle !== undefined && handle !== NEW) return work(this.#named(handle), undefined);
    if (handle === NEW && purpose !== "take") throw invalidArgument("run", "a new run holds nothing yet");
    const isBegun = handle === NEW || (!this.#options.isOneAgents && purpose === "take");
    if (!isBegun) return work(await this.#unnamed(purpose, client), undefined);
    const run = await this.#begin(client);
    try {
      return await work(run, run.handle);
    } finally {
      if (run.holdings.grants.length === 0) await this.#end(run);
    }
  }

  /** Gives back everything that any run holds. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const own = await this.#own?.catch(() => undefined);
    const all = [...this.#open.values(), ...(own === undefined ? [] : [own])];
    this.#open.clear();
    await Promise.allSettled(all.map((run) => run.close()));
  }

  #named(handle: string): Run {
    const run = this.#open.get(handle);
    if (run !== undefined) return run;
    throw new HoldfastError("E_NOT_FOUND", "there is no such run here: it has ended, or the server was restarted", {
      details: { field: "run" },
      next: ["Take the locks again without `run`, and read again what you were about to change."],
    });
  }

  async #unnamed(purpose: Purpose, client: string): Promise<Run> {
    if (!this.#options.isOneAgents && purpose === "held")
      throw invalidArgument("run", "say which run is yours", "Give `run` as lock_acquire told it to you.");
    this.#own ??= this.#openOne(client, this.#options.isOneAgents);
    let run: Run;
    try {
      run = await this.#own;
    } catch (error) {
      this.#own = undefined;
      throw error;
    }
    await this.#rename(run);
    return run;
  }

  /** A client starts its server before the first hook of the run tells who it is, and may begin another run later. */
  async #rename(run: Run): Promise<void> {
    if (!this.#options.isOneAgents) return;
    const workspace = await this.#find();
    if (workspace.run !== null) await run.actAs(workspace.owner, workspace);
  }

  async #begin(client: string): Promise<Run> {
    if (this.#open.size >= MAX_RUNS)
      throw new HoldfastError("E_STORE_UNAVAILABLE", `this server has ${MAX_RUNS} runs open already`, {
        reason: "full",
        next: ["Name your run with `run` instead of opening a new one for each call."],
      });
    const run = await this.#openOne(client, false);
    this.#open.set(run.handle, run);
    return run;
  }

  async #openOne(client: string, isOnlyOne: boolean): Promise<Run> {
    if (this.#isClosed) throw new HoldfastError("E_STORE_UNAVAILABLE", "this server is closing", { reason: "closed" });
    const { env } = this.#options;
    const workspace = await this.#find();
    const handle = `run-${randomBytes(12).toString("hex")}`;
    const { isOneAgents } = this.#options;
    return openRun(handle, workspace, env, ownerOf(workspace, client, handle, isOnlyOne, isOneAgents));
  }

  async #find(): Promise<Workspace> {
    const { said, cwd, env } = this.#options;
    try {
      return findWorkspace(said, { cwd, env });
    } catch (error) {
      await recordClaim(error, (acting) => findWorkspace({ ...said, acting }, { cwd, env }));
      throw error;
    }
  }

  async #closeForgotten(): Promise<void> {
    for (const run of [...this.#open.values()]) if (run.isIdle(FORGOTTEN_AFTER_MS)) await this.#end(run);
  }

  async #end(run: Run): Promise<void> {
    if (this.#open.delete(run.handle)) await run.close();
  }
}

/**
 * A name that was given to agents, or the one of the run whose client started this server, else one after the client. A
 * person's name in the environment is not the agent's. Over HTTP the run that the server was started in says nothing.
 */
function ownerOf(
  { owner, sources, run }: Workspace,
  client: string,
  handle: string,
  isOnlyOne: boolean,
  isOneAgents: boolean,
): string {
  const suffix = handle.slice("run-".length, "run-".length + 6);
  if (run !== null && owner === run.owner && isOneAgents) return isOnlyOne ? owner : subAgentName(owner, suffix);
  if (sources.owner === "default" || sources.owner === "run" || isPerson(owner))
    return `agent:${plain(client)}-${suffix}`;
  return isOnlyOne ? owner : `${owner.slice(0, 150)}-${suffix}`;
}

function plain(name: string): string {
  const letters = name.toLowerCase().replace(/[^a-z0-9._]+/g, "-");
  return letters.replace(/^-+|-+$/g, "").slice(0, 40) || "mcp";
}
