/**
 * Recognizes locks that the agent acquired through its own MCP server. The hook has no token of those, but it can see
 * to whom the server belongs: the same agent tool started the hook and the server, and between the tool and the server
 * stands at most the process that the tool used to start it.
 */
import { chainFrom, commandLineOf } from "../../platform/process/ancestors.js";

const SERVER = /(\bholdfast\b|cli\/main\.js)\S*( \S+)* mcp\b/;

/** Whether this process is an MCP server that one of these agents' clients has started. */
export function isServerOf(pid: number, agents: readonly number[]): boolean {
  if (agents.length === 0) return false;
  const chain = chainFrom(pid);
  const above = chain.findIndex((each) => !SERVER.test(commandLineOf(each.pid)));
  return above > 0 && agents.includes(chain[above]?.pid ?? 0);
}
