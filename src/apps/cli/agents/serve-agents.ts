/** `holdfast mcp`: serves MCP to agents, over standard input and output or over HTTP. */
import { Runs } from "../../../agents/mcp/run/runs.js";
import { serveHttp } from "../../../agents/mcp/serve/serve-http.js";
import { serveStdio } from "../../../agents/mcp/serve/serve-stdio.js";
import { invalidArgument } from "../../../base/errors.js";
import type { ContextWith, Outcome } from "../command.js";

const DEFAULT_PORT = 4655;

interface ServeFlags {
  readonly http: boolean;
  readonly port: number | undefined;
}

export async function serveAgents({ flags, cwd, env, screen, signal }: ContextWith<ServeFlags>): Promise<Outcome> {
  const { http: isHttp, port, root, store, owner } = flags;
  if (port !== undefined && !isHttp) throw invalidArgument("port", "is for --http");
  if (port !== undefined && (port < 0 || port > 65_535)) throw invalidArgument("port", "from 0 to 65535");
  const runs = new Runs({ said: { root, store, owner }, cwd, env, isOneAgents: !isHttp });
  const complain = (error: Error): void => screen.say(`holdfast mcp: ${error.message}`);
  if (!isHttp) {
    await serveStdio(runs, signal, complain);
    return {};
  }
  const face = await serveHttp(runs, port ?? DEFAULT_PORT, complain);
  screen.stream({ url: face.url }, () => `listening on ${face.url}; Ctrl-C or SIGTERM stops it`);
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  await face.close();
  return {};
}
