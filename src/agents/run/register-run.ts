/**
 * Registers the run whose hook this is, so that its commands and its MCP server act under its name, and its locks end
 * with its process.
 *
 * The process of a run is the nearest ancestor of the hook that is the agent tool: by the names that the tool is known
 * to have, or by the program on record for the run. Where neither fits, it is the nearest ancestor that is not a shell
 * and not the hook's own command, once two hooks in a row have it. A shell is never taken: it may be above two processes
 * of one session, one of which was killed and resumed. Until a process is certain, a lock of the run has a lease only,
 * and the record says so.
 *
 * The name of a run is `agent:TOOL-SESSION`, or the HOLDFAST_OWNER that its tool was started with, when that is of kind
 * `agent`, no other living run acts under it, and it is not the name that a hook gave. Two runs that register one name at
 * once look again after they wrote: the earlier one keeps it.
 */
import { asRunProcess, isSameProcess, runsAbove, runsNamedIn } from "../../client/workspace/find-run.js";
import {
  isLiving,
  newRecord,
  noteSeen,
  type RegisteredRun,
  type RunProcess,
  readRun,
  registeredRuns,
  writeRun,
} from "../../client/workspace/registered-runs.js";
import { isOfRun } from "../../client/workspace/run-name.js";
import { hashLeaseToken } from "../../lock/lease-token.js";
import { ancestorsOfThis, type ProcessMark } from "../../platform/process/ancestors.js";
import { type Program, programOf } from "../../platform/process/program.js";
import { AGENT_CLIENTS, type AgentClient } from "../hooks/call.js";

export interface SeenRun {
  /** `agent:TOOL-SESSION`. */
  readonly id: string;
  readonly tool: AgentClient;
  readonly root: string;
  readonly env: NodeJS.ProcessEnv;
  readonly now: Date;
}

export interface Registration {
  readonly owner: string;
  /** The process of the tool; null while none is certain. */
  readonly pid: number | null;
  /** Names of the runs that this one was started in. They lend it what they hold. */
  readonly around: readonly string[];
}

const TOOL_NAMES: Readonly<Record<AgentClient, RegExp>> = {
  claude: /^claude$/,
  codex: /^codex$/,
  cursor: /^cursor(-agent)?$/i,
  gemini: /^gemini$/,
};

const RUN_NAME = new RegExp(`^agent:(${AGENT_CLIENTS.join("|")})-`);

/** Whether a name has the form that a hook gives. */
function isRunName(owner: string): boolean {
  return RUN_NAME.test(owner);
}

/** Call it at every event. A record that cannot be written does not fail the hook: the run is then known to this hook only. */
export function registerRun(seen: SeenRun): Registration {
  const { id, root, env, now } = seen;
  const before = readRun(root, id);
  const others = registeredRuns(root).filter((run) => run.id !== id);
  const chain = ancestorsOfThis();
  const inherited = { inherited_owner: env.HOLDFAST_OWNER || null, inherited_token: tokenHash(env) };
  const found = { ...findProcess(chain, before, seen.tool), ...inherited };
  const around = runsAround(others, chain, found, env);
  const owner = nameFor(id, inherited.inherited_owner, others);
  const run = newRecord({
    id,
    owner,
    tool: seen.tool,
    registered_at: before?.registered_at ?? now.toISOString(),
    ...found,
    around: around.map((each) => each.id),
    elsewhere: before?.elsewhere ?? [],
    told: before?.told ?? [],
  });
  if (before !== null && JSON.stringify(before) === JSON.stringify(run)) noteSeen(root, id, now);
  else keep(root, run);
  const name = owner === id ? id : stillOurs(root, run);
  // mutant: hook-process: pid: run.process?.pid ?? null, → pid: null,
  return { owner: name, pid: run.process?.pid ?? null, around: lendersOf(run, around) };
}

interface FoundProcess {
  readonly process: RunProcess | null;
  readonly program: string | null;
  readonly candidate: RunProcess | null;
}

function findProcess(chain: readonly ProcessMark[], before: RegisteredRun | null, tool: AgentClient): FoundProcess {
  let candidate: { readonly process: RunProcess; readonly program: string | null } | null = null;
  for (const mark of chain) {
    const here = asRunProcess(mark);
    if (before?.process && isSameProcess(before.process, here))
      return { process: here, program: before.program, candidate: null };
    if (candidate !== null) continue;
    const program = programOf(mark.pid);
    // mutant: run-bound-to-a-shell: (program.isShell || isHookCommand(program)) continue; → (isHookCommand(program)) continue;
    if (program.isShell || isHookCommand(program)) continue;
    if (isTool(program, tool, before)) return { process: here, program: program.path, candidate: null };
    candidate = { process: here, program: program.path };
  }
  if (candidate === null) return { process: null, program: before?.program ?? null, candidate: null };
  if (before?.candidate && isSameProcess(before.candidate, candidate.process))
    return { process: candidate.process, program: candidate.program, candidate: null };
  return { process: null, program: before?.program ?? null, candidate: candidate.process };
}

function isTool({ names, path }: Program, tool: AgentClient, before: RegisteredRun | null): boolean {
  return names.some((name) => TOOL_NAMES[tool].test(name)) || (path !== null && path === before?.program);
}

/** Such as `npx holdfast hook check claude`: it lives as briefly as the hook. */
function isHookCommand({ words }: Program): boolean {
  return /\bhook check\b/.test(words.join(" "));
}

/** The runs whose process is above this one's own, and those that the environment names. */
function runsAround(
  others: readonly RegisteredRun[],
  chain: readonly ProcessMark[],
  { process, candidate, inherited_owner }: FoundProcess & { readonly inherited_owner: string | null },
  env: NodeJS.ProcessEnv,
): readonly RegisteredRun[] {
  const own = process ?? candidate;
  const isOwn = (mark: ProcessMark): boolean => own !== null && isSameProcess(own, asRunProcess(mark));
  const above = chain.slice(chain.findIndex(isOwn) + 1);
  const told = others.filter((run) => run.id === inherited_owner && isLiving(run));
  return [...new Set([...runsAbove(others, above), ...runsNamedIn(others, env), ...told])];
}

function nameFor(id: string, inherited: string | null, others: readonly RegisteredRun[]): string {
  if (inherited === null || !inherited.startsWith("agent:") || isRunName(inherited)) return id;
  return others.some((run) => isOfRun(inherited, run.owner) && isLiving(run)) ? id : inherited;
}

function stillOurs(root: string, run: RegisteredRun): string {
  const earlier = (other: RegisteredRun): boolean =>
    `${other.registered_at} ${other.id}` < `${run.registered_at} ${run.id}`;
  const others = registeredRuns(root).filter((other) => other.id !== run.id && other.owner === run.owner);
  const taken = others.some((other) => earlier(other) && isLiving(other));
  if (!taken) return run.owner;
  keep(root, { ...run, owner: run.id });
  return run.id;
}

/** A run in another workspace has no record here; its name in the environment still tells that it is around. */
function lendersOf({ owner, inherited_owner }: RegisteredRun, around: readonly RegisteredRun[]): readonly string[] {
  const named = inherited_owner !== null && isRunName(inherited_owner) ? [inherited_owner] : [];
  return [...new Set([...around.map((run) => run.owner), ...named])].filter((name) => name !== owner);
}

function keep(root: string, run: RegisteredRun): void {
  try {
    writeRun(root, run);
  } catch {}
}

function tokenHash(env: NodeJS.ProcessEnv): string | null {
  return env.HOLDFAST_LEASE_TOKEN ? hashLeaseToken(env.HOLDFAST_LEASE_TOKEN) : null;
}
