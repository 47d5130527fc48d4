/** Serves MCP over HTTP on the loopback, to many agent tools, which are distinguished by their runs. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { createMcpHandler } from "@modelcontextprotocol/server";
import {
  closeServer,
  createLoopbackGuard,
  createLoopbackServer,
  LOOPBACK,
  listenOnLoopback,
} from "../../../platform/loopback.js";
import type { Runs } from "../run/runs.js";
import { requestFrom, respond } from "./http-bridge.js";
import { createServer } from "./server.js";

const PATH = "/mcp";
const UNKNOWN_METHODS = ["TRACE", "TRACK", "CONNECT"];

export interface HttpFace {
  readonly url: string;
  /** Everything is given back. */
  close(): Promise<void>;
}

/** `E_IO` when the port is taken. */
export async function serveHttp(runs: Runs, port: number, onError: (error: Error) => void): Promise<HttpFace> {
  const handler = createMcpHandler(() => createServer(runs), { onerror: onError });
  const http = createLoopbackServer();
  const own = await listenOnLoopback(http, port);
  const guard = createLoopbackGuard(own);
  http.on("request", (message, response) => {
    const why = guard.refusal(message.headers.host, message.headers.origin);
    if (why !== null) return refuse(response, 403, why);
    // Looked at as text: what makes no URL, such as `//`, is nothing to fall over.
    if (message.url?.split("?", 1)[0] !== PATH) return refuse(response, 404, "not here");
    // The web's Request knows no such methods.
    if (UNKNOWN_METHODS.includes(message.method ?? "")) return refuse(response, 405, "this is not answered here");
    void answer(message, response);
  });
  http.on("error", onError);
  const answer = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    try {
      await respond(await handler.fetch(requestFrom(message, response, `http://${LOOPBACK}`)), response);
    } catch (error) {
      if (!response.headersSent && !response.destroyed) refuse(response, 500, "could not be answered");
      else response.destroy();
      onError(error as Error);
    }
  };
  return {
    url: `http://${LOOPBACK}:${own}${PATH}`,
    async close() {
      await runs.close();
      await handler.close();
      await closeServer(http);
    },
  };
}

function refuse(response: ServerResponse, status: number, message: string): void {
  const error = { code: -32_000, message };
  response.writeHead(status, { "content-type": "application/json", connection: "close" });
  response.end(JSON.stringify({ jsonrpc: "2.0", id: null, error }));
}
