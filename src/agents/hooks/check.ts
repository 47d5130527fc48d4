/**
 * Handles one call of a hook: reads the input of the agent tool, acquires the locks or refuses, and answers in the
 * tool's dialect.
 *
 * When in doubt it refuses: before a write, input that cannot be understood and a store that cannot be opened are
 * refusals. A write to a file of no workspace is free; in a repository without one, the first write makes it. After a write, and at the end of a run, nothing is refused, because there the agent
 * tool only reports.
 */
import { appendFileSync } from "node:fs";
import { openIn } from "../../client/open-holdfast.js";
import { assertMayBeMade, tokenFolderOf } from "../../client/workspace/find-workspace.js";
import { makeHome } from "../../client/workspace/make-workspace.js";
import { forgetRun, noteElsewhere, noteTold, readRun, sweepRuns } from "../../client/workspace/registered-runs.js";
import { isWorkspace } from "../../client/workspace/search.js";
import { findWorkspace, type Workspace } from "../../features/configuration.js";
import { createSystemClock } from "../../platform/clock.js";
import { type Registration, registerRun } from "../run/register-run.js";
import { runIdOf, runOf } from "../run/run.js";
import { RunLocks } from "../run/run-locks.js";
import type { AgentClient, Answer, HookCall, Moment, Refusal } from "./call.js";
import { type Demand, demandsOf } from "./demand.js";
import { DIALECTS } from "./dialects/dialect.js";
import { notUnderstood } from "./fields.js";
import { refusalText } from "./refusal-text.js";

export interface CheckOptions {
  readonly client: AgentClient;
  /** What came on standard input. */
  readonly input: string;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly root?: string | undefined;
  readonly store?: string | undefined;
  readonly ttl?: string | undefined;
  readonly wait?: string | undefined;
}

export interface Checked extends Answer {
  readonly moment: Moment;
  readonly refusal: Refusal;
}

/** Never throws. */
export async function checkHook(options: CheckOptions): Promise<Checked> {
  const dialect = DIALECTS[options.client];
  let moment: Moment = "before";
  try {
    const call = dialect.read(parsed(options.input));
    moment = call.moment;
    const { notes, remarks } = await obey(call, options);
    const told = remarks.length === 0 ? null : dialect.tell(call.event, remarks.join("\n"));
    const answer = told ?? dialect.answer(moment, null);
    const stderr = notes.map((note) => `holdfast: ${note}\n`).join("") + answer.stderr;
    return { ...answer, stderr, moment, refusal: null };
  } catch (error) {
    const refusal = refusalText(error);
    // mutant: hook-closed: moment, refusal), moment, refusal }; → moment, null), moment, refusal: null };
    return { ...dialect.answer(moment, refusal), moment, refusal };
  }
}

function parsed(input: string): unknown {
  try {
    return JSON.parse(input);
  } catch {
    throw notUnderstood(input.trim() === "" ? "it is empty" : "it is no JSON");
  }
}

/** One workspace that a call concerns. */
interface Step {
  readonly workspace: Workspace;
  readonly root: string;
  readonly demand: Demand | null;
}

async function obey(call: HookCall, options: CheckOptions): Promise<Said> {
  const { env } = options;
  const id = runIdOf(call);
  const own = workspaceOf(call, id, options);
  const root = own.isThere || own.isInRepository ? own.root : null;
  if (call.moment === "start") {
    const { owner, around } = registered(call, id, root, env);
    begin(runOf(call, owner, around).owner, root, env);
    return { notes: [], remarks: [] };
  }
  const demands = call.moment === "before" ? demandsOf(call, root, options.cwd) : [];
  const demand = demands.find((each) => each.root === root) ?? null;
  // The own workspace remembers where else the run acquired something.
  const isOwnConcerned = root !== null && (own.isThere || demands.length > 0);
  const others =
    call.moment === "before" ? demands.flatMap((each) => otherStep(each, root, id, env)) : elsewhere(root, id, env);
  const steps = [...(isOwnConcerned ? [{ workspace: own, root, demand }] : []), ...others];
  const notes: string[] = [];
  const remarks: string[] = [];
  await carryOut(steps, { call, options, id, own: root, notes, remarks });
  if (root !== null && demands.length > 0)
    noteElsewhere(
      root,
      id,
      others.map((each) => each.root),
    );
  if (call.moment === "end") for (const step of steps) forgetRun(step.root, id);
  return { notes, remarks };
}

/** For standard error, and for the agent. */
interface Said {
  readonly notes: string[];
  readonly remarks: string[];
}

interface Course extends Said {
  readonly call: HookCall;
  readonly options: CheckOptions;
  readonly id: string;
  /** The root of the agent's own workspace. */
  readonly own: string | null;
}

/** Does what the call needs in all workspaces, or in none: what one refuses is given back in those before it. */
async function carryOut([step, ...rest]: readonly Step[], course: Course): Promise<void> {
  if (step === undefined) return;
  const { call, options, id, notes, remarks } = course;
  const { env } = options;
  const { workspace, root } = step;
  if (!workspace.isThere) {
    // The run is registered in the folder.
    assertMayBeMade(workspace);
    makeHome(root);
  }
  const { owner, pid, around } = registered(call, id, root, env);
  const run = runOf(call, owner, around);
  const onMade = (made: string): void => void notes.push(`made a workspace in ${made}, because there was none`);
  await using holdfast = await openIn(workspace, { owner: run.owner, heart: "loop", onMade });
  // Only the store knows how the files of a workspace that it has not seen yet are called.
  // mutant: hook-first-names: const demand = isSettled(workspace) ? → const demand = root !== "" ?
  const demand = isSettled(workspace) ? step.demand : demandIn(root, course);
  const folder = tokenFolderOf(workspace, env);
  const locks = new RunLocks({ holdfast, folder, run, pid, ttl: options.ttl, wait: options.wait });
  for (const tree of demand?.trees ?? []) await locks.holdNothingElse(tree);
  const keys = demand?.keys ?? [];
  // mutant: hook-contention: await locks.hold(keys) → await locks.hold(keys).catch(() => null)
  const undo = keys.length > 0 ? await locks.hold(keys) : null;
  try {
    await carryOut(rest, course);
  } catch (error) {
    // mutant: hook-all-or-none: await undo?.(); →
    await undo?.();
    throw error;
  }
  if (call.moment === "before" || call.moment === "after") {
    await locks.renew();
    if (DIALECTS[options.client].tell(call.event, "") === null) return;
    // A remark that cannot be made now is made at a later call.
    const found = await locks.newOverlaps(readRun(root, id)?.told ?? []).catch(() => null);
    remarks.push(...(found?.lines ?? []));
    noteTold(root, id, found?.told ?? []);
  } else await locks.release();
}

function isSettled({ record }: Workspace): boolean {
  return record !== null && record.store.isFirst !== null;
}

function demandIn(root: string, { call, own, options }: Course): Demand | null {
  if (call.moment !== "before") return null;
  return demandsOf(call, own, options.cwd).find((each) => each.root === root) ?? null;
}

/** Flags and the environment speak for the agent's own workspace; another one is opened as its record says. */
function otherStep(demand: Demand, own: string | null, acting: string, env: NodeJS.ProcessEnv): readonly Step[] {
  if (demand.root === own) return [];
  const { HOLDFAST_ROOT: _root, HOLDFAST_STORE: _store, ...rest } = env;
  const workspace = findWorkspace({ root: demand.root, acting }, { cwd: demand.root, env: rest });
  return [{ workspace, root: demand.root, demand }];
}

/** The other workspaces in which the run holds something. One that is gone has nothing left to give back. */
function elsewhere(own: string | null, id: string, env: NodeJS.ProcessEnv): readonly Step[] {
  const roots = own === null ? [] : (readRun(own, id)?.elsewhere ?? []);
  return roots.flatMap((root) => (isWorkspace(root) ? otherStep({ root, keys: [], trees: [] }, own, id, env) : []));
}

function registered({ client }: HookCall, id: string, root: string | null, env: NodeJS.ProcessEnv): Registration {
  if (root === null) return { owner: id, pid: null, around: [] };
  return registerRun({ id, tool: client, root, env, now: new Date(createSystemClock()().wallMs) });
}

/** Commands that the agent gives in its shell are then given in the run's name. */
function begin(owner: string, root: string | null, env: NodeJS.ProcessEnv): void {
  if (root !== null) sweepRuns(root);
  if (env.CLAUDE_ENV_FILE) appendFileSync(env.CLAUDE_ENV_FILE, `export HOLDFAST_OWNER='${owner}'\n`);
}

/** Said, else where the client's project is, else where it works. */
function workspaceOf({ cwd }: HookCall, acting: string, options: CheckOptions): Workspace {
  const { env, root, store } = options;
  const project = env.CLAUDE_PROJECT_DIR || env.GEMINI_PROJECT_DIR || env.CURSOR_PROJECT_DIR;
  return findWorkspace({ root, store, acting }, { cwd: project || cwd || options.cwd, env });
}
