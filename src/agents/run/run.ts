/**
 * Names the owner of the locks that a hook acquires: the agent's run, never the hook process, which ends in a moment. A
 * run is named by the id that the agent tool gives it, a sub-agent by its own id within it; where the agent tool gives
 * no id, the run is named by its process.
 *
 *   agent:claude-0b5f…            a run
 *   agent:claude-0b5f…/a17        a sub-agent of it: it may write under what the run holds, and excludes other sub-agents
 */
import { hash } from "node:crypto";
import { ancestorsOfThis, commandLineOf } from "../../platform/process/ancestors.js";
import { AGENT_CLIENTS, type HookCall } from "../hooks/call.js";
import { notUnderstood } from "../hooks/fields.js";

export interface Run {
  readonly owner: string;
  /** The run it is a part of, or itself. */
  readonly main: string;
}

const PLAIN = /^[A-Za-z0-9._-]{1,80}$/;

export function runOf({ client, session, agent }: HookCall): Run {
  const main = `agent:${client}-${nameOf(session ?? agentProcess())}`;
  return { main, owner: agent === null ? main : `${main}/${nameOf(agent)}` };
}

const RUN_NAME = new RegExp(`^agent:(${AGENT_CLIENTS.join("|")})-`);

/** Whether a hook has given this name. */
export function isRunName(owner: string): boolean {
  return RUN_NAME.test(owner);
}

export function isSubAgent({ owner, main }: Run): boolean {
  return owner !== main;
}

/** Different ids have different names, whatever they contain. */
function nameOf(id: string): string {
  if (PLAIN.test(id)) return id;
  return `${id.replace(/[^A-Za-z0-9._-]/g, "-").slice(0, 60)}-${hash("sha256", id, "hex").slice(0, 16)}`;
}

/** The nearest process above this one that is no wrapper around the hook's own command. */
function agentProcess(): string {
  const found = ancestorsOfThis().find(({ pid }) => !/\bhook check\b/.test(commandLineOf(pid)));
  if (found === undefined) throw notUnderstood("it has no session_id");
  return `pid-${found.pid}-${found.startTime}`;
}
