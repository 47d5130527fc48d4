/**
 * Handles one call of a hook: reads the input of the agent tool, acquires the locks or refuses, and answers in the
 * tool's dialect.
 *
 * When in doubt it refuses: before a write, input that cannot be understood, a missing workspace and a store that
 * cannot be opened are refusals. After a write, and at the end of a run, nothing is refused, because there the agent
 * tool only reports.
 */
import { appendFileSync, lstatSync } from "node:fs";
import { resolve } from "node:path";
import { HoldfastError } from "../../base/errors.js";
import { HOME } from "../../base/home-folder.js";
import { openIn } from "../../client/open-holdfast.js";
import { isAroundRoot, pathKeyInside } from "../../client/path-key.js";
import { CONFIG_FILE } from "../../client/workspace/config.js";
import { tokenFolderOf } from "../../client/workspace/find-workspace.js";
import { forgetRun, sweepRuns } from "../../client/workspace/registered-runs.js";
import { findWorkspace, type Workspace } from "../../features/configuration.js";
import { isWithin, type Key, parseKey } from "../../lock/key.js";
import { PATH_TREE } from "../../lock/reserved-kinds.js";
import { createSystemClock } from "../../platform/clock.js";
import { type Registration, registerRun } from "../run/register-run.js";
import { runIdOf, runOf } from "../run/run.js";
import { RunLocks } from "../run/run-locks.js";
import type { AgentClient, Answer, HookCall, Moment, Refusal } from "./call.js";
import { DIALECTS } from "./dialects/dialect.js";
import { notUnderstood } from "./fields.js";
import { carriesHooks } from "./hook-carriers.js";
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
    await obey(call, options);
    return { ...dialect.answer(moment, null), moment, refusal: null };
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

async function obey(call: HookCall, options: CheckOptions): Promise<void> {
  const { env } = options;
  const id = runIdOf(call);
  const workspace = workspaceOf(call, id, options);
  const { root } = workspace;
  const asked = call.moment === "before" ? demandOf(call, workspace, options.cwd) : null;
  const { owner, pid, around } = registered(call, id, root, env);
  const run = runOf(call, owner, around);
  if (call.moment === "start") return begin(run.owner, root, env);
  await using holdfast = await openIn(workspace, { owner: run.owner, heart: "loop" });
  const folder = tokenFolderOf(workspace, env);
  const locks = new RunLocks({ holdfast, folder, run, pid, ttl: options.ttl, wait: options.wait });
  if (asked !== null) {
    if (asked.wholeTree) await locks.holdNothingElse(WHOLE);
    // mutant: hook-contention: locks.hold(asked.keys); → locks.hold(asked.keys).catch(() => undefined);
    if (asked.keys.length > 0) await locks.hold(asked.keys);
  }
  if (call.moment === "before" || call.moment === "after") await locks.renew();
  else await locks.release();
  if (call.moment === "end" && root !== null) forgetRun(root, id);
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

const WHOLE = parseKey(PATH_TREE);

interface Demand {
  readonly keys: readonly Key[];
  readonly wholeTree: boolean;
}

function demandOf({ intent, cwd }: HookCall, { root }: Workspace, started: string): Demand {
  if (intent.notForAgents !== null) throw notForAgents(`\`${intent.notForAgents}\``);
  if (root === null)
    throw new HoldfastError("E_CONFIG", "there is no workspace whose files could be locked", {
      reason: "no_workspace",
    });
  const at = (path: string): string => resolve(cwd ?? started, path);
  const keys = intent.files.map((file) => pathKeyInside(root, at(file))).filter((key) => key !== null);
  for (const key of keys) if (isOurs(key)) throw notForAgents(`writing ${key.slice(WHOLE.length + 1)}`);
  const carrier = intent.files.map(at).find((file) => carriesHooks(root, file));
  // mutant: hook-carriers: if (carrier !== undefined) throw → if (carrier === null) throw
  if (carrier !== undefined) throw notForAgents(`writing ${carrier}, which holds the hooks,`);
  // mutant: hook-around-removed: (root, at(path)) && !isLink(at(path))) → (root, at(path)) && isLink(at(path)))
  for (const path of intent.removed)
    if (isAroundRoot(root, at(path)) && !isLink(at(path)))
      throw notForAgents(`removing or moving ${path}, with the workspace in it,`);
  // mutant: hook-pattern-above: const isAnywhere = intent.somewhereIn.some( → const isAnywhere = [].some(
  const isAnywhere = intent.somewhereIn.some((folder) => isAroundRoot(root, at(folder)));
  return {
    keys: keys.filter((key) => key !== WHOLE),
    wholeTree: intent.wholeTree !== null || isAnywhere || keys.includes(WHOLE),
  };
}

/** Only the link would go. */
function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
}

/** Locks and policy are not an agent's to change by hand. */
function isOurs(key: Key): boolean {
  return isWithin(key, `${WHOLE}/${HOME}`) || key === `${WHOLE}/${CONFIG_FILE}`;
}

function notForAgents(what: string): HoldfastError {
  return new HoldfastError("E_FORBIDDEN", `${what} is not for agents: it changes locks or policy`, {
    next: ["Ask a person to do it."],
  });
}
