/** `holdfast mcp [--http]`: the server that agents talk to. */
import { Runs } from "../../mcp/runs.js";
import { serveHttp } from "../../mcp/serve-http.js";
import { serveStdio } from "../../mcp/serve-stdio.js";
import { invalidArgument } from "../../support/errors.js";
import type { Context, Outcome } from "../context.js";

const DEFAULT_PORT = 4655;

export async function run({ flags, cwd, env, screen, signal }: Context): Promise<Outcome> {
  const isHttp = flags.has("http");
  const port = flags.integer("port");
  if (port !== undefined && !isHttp) throw invalidArgument("port", "is for --http");
  if (port !== undefined && (port < 0 || port > 65_535)) throw invalidArgument("port", "from 0 to 65535");
  const said = { root: flags.text("root"), store: flags.text("store"), owner: flags.text("owner") };
  const runs = new Runs({ said, cwd, env, isOneAgents: !isHttp });
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
