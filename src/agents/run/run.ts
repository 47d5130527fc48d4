/**
 * Names the owner of the locks that a hook acquires: the agent's run, never the hook process, which ends in a moment.
 * Where the agent tool gives no id for the run, the run is named by its process.
 */
import { runId, subAgentName } from "../../client/workspace/run-name.js";
import { ancestorsOfThis, commandLineOf } from "../../platform/process/ancestors.js";
import type { HookCall } from "../hooks/call.js";
import { notUnderstood } from "../hooks/fields.js";

export interface Run {
  readonly owner: string;
  /** The run it is a part of, or itself. */
  readonly main: string;
  /** Runs that this one was started in. They lend it what they hold. */
  readonly around: readonly string[];
}

/** Names the run by tool and session. */
export function runIdOf({ client, session }: HookCall): string {
  return runId(client, session ?? agentProcess());
}

/** The run, or the sub-agent of it, whose hook this is. `main` is the name that the run acts under. */
export function runOf({ agent }: HookCall, main: string, around: readonly string[]): Run {
  return { main, owner: agent === null ? main : subAgentName(main, agent), around };
}

export function isSubAgent({ owner, main }: Run): boolean {
  return owner !== main;
}

/** The nearest process above this one that is no wrapper around the hook's own command. */
function agentProcess(): string {
  const found = ancestorsOfThis().find(({ pid }) => !/\bhook check\b/.test(commandLineOf(pid)));
  if (found === undefined) throw notUnderstood("it has no session_id");
  return `pid-${found.pid}-${found.startTime}`;
}
