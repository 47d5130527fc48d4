/** Over HTTP on the loopback: many clients, told apart by their runs. */
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createMcpHandler } from "@modelcontextprotocol/server";
import { ioError } from "../support/errors.js";
import { requestFrom, respond } from "./http-bridge.js";
import { createGuard, type Guard } from "./http-guard.js";
import type { Runs } from "./runs.js";
import { createServer } from "./server.js";

const LOOPBACK = "127.0.0.1";
const PATH = "/mcp";
/** A client that comes back to an idle connection must not find it just being closed. */
const KEEP_ALIVE_MS = 10 * 60_000;

export interface HttpFace {
  readonly url: string;
  /** Everything is given back. */
  close(): Promise<void>;
}

/** `E_IO` when the port is taken. */
export async function serveHttp(runs: Runs, port: number, onError: (error: Error) => void): Promise<HttpFace> {
  const handler = createMcpHandler(() => createServer(runs), { onerror: onError });
  let guard: Guard | undefined;
  const http = createHttpServer((message, response) => {
    const why = guard?.refusal(message.headers.host, message.headers.origin) ?? null;
    if (why !== null) return refuse(response, 403, why);
    // Looked at as text: what makes no URL, such as `//`, is nothing to fall over.
    if (message.url?.split("?", 1)[0] !== PATH) return refuse(response, 404, "not here");
    void answer(message, response);
  });
  const answer = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    try {
      await respond(await handler.fetch(requestFrom(message, response, `http://${LOOPBACK}`)), response);
    } catch (error) {
      if (!response.headersSent && !response.destroyed) refuse(response, 500, "could not be answered");
      else response.destroy();
      onError(error as Error);
    }
  };
  http.keepAliveTimeout = KEEP_ALIVE_MS;
  const own = await listen(http, port);
  http.on("error", onError);
  guard = createGuard(own);
  return {
    url: `http://${LOOPBACK}:${own}${PATH}`,
    async close() {
      await runs.close();
      await handler.close();
      const closed = new Promise((resolve) => http.close(resolve));
      http.closeAllConnections();
      await closed;
    },
  };
}

function listen(http: ReturnType<typeof createHttpServer>, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    http.once("error", (error) => reject(ioError(error, "listen on", `${LOOPBACK}:${port}`)));
    http.listen(port, LOOPBACK, () => resolve((http.address() as AddressInfo).port));
  });
}

function refuse(response: ServerResponse, status: number, message: string): void {
  const error = { code: -32_000, message };
  response.writeHead(status, { "content-type": "application/json", connection: "close" });
  response.end(JSON.stringify({ jsonrpc: "2.0", id: null, error }));
}
