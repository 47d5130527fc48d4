/**
 * Decides which owner a process acts as. The first of these that says something:
 *
 *   1. `--owner`, or `owner` in a call
 *   2. HOLDFAST_OWNER
 *   3. the run of an agent that the process belongs to (find-run.ts)
 *   4. `owner` in the configuration
 *   5. `user:NAME@HOST`
 *
 * Inside a run, the first two may not name a person or another living run: `E_FORBIDDEN`. A HOLDFAST_OWNER that the
 * agent tool was started with is not such a claim. It counts only if it names the run (register-run.ts), else it is
 * ignored, and a note says so.
 */
import { hostname } from "node:os";
import { HoldfastError } from "../../base/errors.js";
import { userName } from "../../base/user-name.js";
import { hashLeaseToken } from "../../lock/lease-token.js";
import { isPerson } from "../../lock/owner.js";
import { parseOwner } from "../options.js";
import type { RunHere } from "./find-run.js";
import { isLiving, type RegisteredRun } from "./registered-runs.js";
import { isOfRun } from "./run-name.js";

export interface OwnerSources {
  readonly said: string | undefined;
  readonly env: NodeJS.ProcessEnv;
  /** `owner` in the configuration. */
  readonly config: string | undefined;
  /** The run that this process belongs to. */
  readonly runs: RunHere;
}

export interface OwnerInForce {
  readonly owner: string;
  readonly source: "argument" | "environment" | "run" | "config" | "default";
  /** The run that this process belongs to, under whatever name it acts. */
  readonly run: RegisteredRun | null;
  /** For people: what was ignored. */
  readonly notes: readonly string[];
}

/** `E_INVALID_ARGUMENT` for a name that is not an owner's, `E_FORBIDDEN` for one that is not this run's to use. */
export function ownerFor({ said, env, config, runs }: OwnerSources): OwnerInForce {
  const { run } = runs;
  const around = env.HOLDFAST_OWNER || undefined;
  const found = { run, notes: [] as readonly string[] };
  if (said !== undefined) return { ...found, owner: allowed(parseOwner(said), runs, "--owner"), source: "argument" };
  if (around !== undefined && !isIgnored(around, run))
    return {
      ...found,
      owner: allowed(parseOwner(around, "HOLDFAST_OWNER"), runs, "HOLDFAST_OWNER"),
      source: "environment",
    };
  if (run !== null) {
    const notes = around === undefined ? [] : [`HOLDFAST_OWNER=${around} was set before the agent started: ignored`];
    return { ...found, owner: run.owner, source: "run", notes };
  }
  if (config !== undefined) return { ...found, owner: parseOwner(config), source: "config" };
  return { ...found, owner: `user:${userName()}@${hostname()}`, source: "default" };
}

/** Whether a lease token in the environment was there before the agent started. */
export function isInheritedToken(token: string, run: RegisteredRun): boolean {
  return run.inherited_token === hashLeaseToken(token);
}

/** `E_FORBIDDEN` for a lease token that is kept under a name which is not this run's. */
export function forbiddenToken(keptUnder: string, run: RegisteredRun): HoldfastError | null {
  // mutant: token-of-another-run: if (isOfRun(keptUnder, run.owner)) return null; → return null;
  if (isOfRun(keptUnder, run.owner)) return null;
  return forbidden(`this lease token is kept for ${keptUnder}, and this command belongs to ${run.owner}`, {
    claimed: keptUnder,
    run: run.owner,
  });
}

function isIgnored(around: string, run: RegisteredRun | null): boolean {
  return run !== null && around !== run.owner && around === run.inherited_owner;
}

function allowed(name: string, { run, registered }: RunHere, field: string): string {
  if (run === null || isOfRun(name, run.owner)) return name;
  const isAnothers = registered.some((other) => other.id !== run.id && isOfRun(name, other.owner) && isLiving(other));
  // mutant: person-inside-a-run: (!isPerson(name) && !isAnothers) return name; → (!isAnothers) return name;
  // mutant: other-run-inside-a-run: (!isPerson(name) && !isAnothers) return name; → (!isPerson(name)) return name;
  if (!isPerson(name) && !isAnothers) return name;
  const whose = isAnothers ? "another run" : "a person";
  throw forbidden(`${field}: ${name} is ${whose}, and this command belongs to ${run.owner}`, {
    claimed: name,
    run: run.owner,
  });
}

function forbidden(message: string, details: { readonly claimed: string; readonly run: string }): HoldfastError {
  return new HoldfastError("E_FORBIDDEN", message, {
    details,
    next: ["Leave out --owner, HOLDFAST_OWNER and --token: the command then acts for its own run."],
  });
}
