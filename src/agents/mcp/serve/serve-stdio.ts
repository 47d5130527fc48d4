/** Serves MCP over standard input and output to one agent tool, and ends when that tool ends. */
import { StdioServerTransport, serveStdio as serve } from "@modelcontextprotocol/server/stdio";
import type { Runs } from "../run/runs.js";
import { createServer } from "./server.js";

/** Resolves when the client has gone or the signal aborts; everything is given back by then. */
export async function serveStdio(runs: Runs, signal: AbortSignal, onError: (error: Error) => void): Promise<void> {
  await new Promise<void>((resolve) => {
    const handle = serve(() => createServer(runs), { transport: new Wire(resolve), onerror: onError });
    const stop = (): void => void handle.close().catch(onError).then(resolve);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
  await runs.close();
}

/** The input has ended, the output is broken, or the server was told to stop. */
class Wire extends StdioServerTransport {
  readonly #onEnd: () => void;

  constructor(onEnd: () => void) {
    super();
    this.#onEnd = onEnd;
  }

  override async close(): Promise<void> {
    await super.close();
    this.#onEnd();
  }
}
