/**
 * Finds the run of an agent that this process belongs to, among the registered runs of the workspace.
 *
 * Evidence is a registered process among the ancestors, the nearest first; ancestors end at a pid namespace. Where a
 * process has several living runs, or is an editor that also hosts the terminals of a person, only the tool's own
 * variable tells which run is meant. Where no ancestor is registered (a sandbox with a pid namespace of its own, a
 * command in the background whose parents have ended), the variable alone decides, unless two variables name two runs
 * of which neither was started in the other. Where nothing decides there is no run.
 *
 * Where no run is registered, no process is looked at.
 */
import { pidNamespace, thisMachine } from "../../platform/machine.js";
import { chainFrom, type ProcessMark } from "../../platform/process/ancestors.js";
import { isLiving, type RegisteredRun, type RunProcess, registeredRuns } from "./registered-runs.js";
import { runId } from "./run-name.js";

export interface RunHere {
  readonly run: RegisteredRun | null;
  /** All runs that are registered in the workspace, dead ones included. */
  readonly registered: readonly RegisteredRun[];
}

/** The variables in which agent tools tell their commands the session. */
const SESSION_VARIABLES: readonly (readonly [tool: string, variable: string])[] = [
  ["codex", "CODEX_THREAD_ID"],
  ["claude", "CLAUDE_CODE_SESSION_ID"],
  ["gemini", "GEMINI_SESSION_ID"],
  ["cursor", "CURSOR_CONVERSATION_ID"],
];

/** Their processes also host the terminals of a person. */
const EDITORS = new Set(["cursor"]);

const NO_RUN: RunHere = { run: null, registered: [] };

/** `root`: the workspace, null for a store without one. */
export function findRun(root: string | null, env: NodeJS.ProcessEnv): RunHere {
  const registered = root === null ? [] : registeredRuns(root);
  if (registered.length === 0) return NO_RUN;
  return { run: decide(registered, chainFrom(process.pid), env), registered };
}

/** Finds the runs that these processes show, the nearest first: each process that has one run, and hosts no terminals. */
export function runsAbove(
  registered: readonly RegisteredRun[],
  chain: readonly ProcessMark[],
): readonly RegisteredRun[] {
  return chain.flatMap((mark) => {
    const run = onlyOne(registered.filter((each) => isAt(each, mark)));
    return run === null || EDITORS.has(run.tool) ? [] : [run];
  });
}

/** Returns the living runs that variables name; of two, only the inner one when it was started in the other. */
export function runsNamedIn(registered: readonly RegisteredRun[], env: NodeJS.ProcessEnv): readonly RegisteredRun[] {
  const ids = SESSION_VARIABLES.flatMap(([tool, name]) => (env[name] ? [runId(tool, env[name])] : []));
  const named = registered.filter((run) => (ids.includes(run.id) || isToldItsName(run, env)) && isLiving(run));
  return named.filter((run) => !named.some((other) => other.around.includes(run.id)));
}

/** The mark of a process as a record keeps it. */
export function asRunProcess({ pid, startTime }: ProcessMark): RunProcess {
  return { pid, startTime, pidNamespace: pidNamespace(), bootId: thisMachine().bootId };
}

export function isSameProcess(one: RunProcess, other: RunProcess): boolean {
  return (
    one.pid === other.pid &&
    one.startTime === other.startTime &&
    one.pidNamespace === other.pidNamespace &&
    one.bootId === other.bootId
  );
}

function decide(
  registered: readonly RegisteredRun[],
  chain: readonly ProcessMark[],
  env: NodeJS.ProcessEnv,
): RegisteredRun | null {
  const nearest = chain.find((mark) => registered.some((run) => isAt(run, mark)));
  // mutant: run-named-from-afar: (nearest === undefined) → (nearest === undefined || runsNamedIn(registered, env).length > 0)
  if (nearest === undefined) return onlyOne(runsNamedIn(registered, env));
  const there = registered.filter((run) => isAt(run, nearest));
  const only = onlyOne(there);
  // mutant: run-of-an-editor: && !EDITORS.has(only.tool)) return only; → ) return only;
  if (only !== null && !EDITORS.has(only.tool)) return only;
  return onlyOne(runsNamedIn(there, env));
}

function isAt({ process }: RegisteredRun, mark: ProcessMark): boolean {
  if (process === null || process.pid !== mark.pid) return false;
  return isSameProcess(process, asRunProcess(mark));
}

/** The hook of Claude Code writes HOLDFAST_OWNER into the environment of the run's shell. */
function isToldItsName({ tool, id, owner }: RegisteredRun, env: NodeJS.ProcessEnv): boolean {
  return tool === "claude" && id === owner && owner === env.HOLDFAST_OWNER;
}

function onlyOne(runs: readonly RegisteredRun[]): RegisteredRun | null {
  const [first, second] = runs;
  return first !== undefined && second === undefined ? first : null;
}
