/**
 * Names the runs of agents. A run is named by the id that its agent tool gives it, a sub-agent by its own id within it:
 *
 *   agent:claude-0b5f…            a run
 *   agent:claude-0b5f…/a17        a sub-agent of it
 */
import { hash } from "node:crypto";

const PLAIN = /^[A-Za-z0-9._-]{1,80}$/;

export function runId(tool: string, session: string): string {
  return `agent:${tool}-${namePart(session)}`;
}

export function subAgentName(run: string, agent: string): string {
  return `${run}/${namePart(agent)}`;
}

/** Whether a name is that of the run, or of a sub-agent of it. */
export function isOfRun(name: string, run: string): boolean {
  return name === run || name.startsWith(`${run}/`);
}

/** Different ids have different names, whatever they contain. */
function namePart(id: string): string {
  if (PLAIN.test(id)) return id;
  return `${id.replace(/[^A-Za-z0-9._-]/g, "-").slice(0, 60)}-${hash("sha256", id, "hex").slice(0, 16)}`;
}
