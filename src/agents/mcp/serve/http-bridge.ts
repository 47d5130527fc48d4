/** Converts between node:http and the web's Request and Response, which the library of the protocol uses. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

/** Aborts with the connection, so that nobody waits for a client that has gone. */
export function requestFrom(message: IncomingMessage, response: ServerResponse, origin: string): Request {
  const gone = new AbortController();
  response.once("close", () => {
    // mutant: mcp-gone: if (!response.writableFinished) gone.abort(new Error("the client has gone")); →
    if (!response.writableFinished) gone.abort(new Error("the client has gone"));
  });
  const headers = new Headers();
  for (const [name, value] of Object.entries(message.headersDistinct))
    for (const each of value ?? []) headers.append(name, each);
  const method = message.method ?? "GET";
  const hasBody = method !== "GET" && method !== "HEAD";
  return new Request(new URL(message.url ?? "/", origin), {
    method,
    headers,
    signal: gone.signal,
    ...(hasBody ? { body: Readable.toWeb(message) as ReadableStream, duplex: "half" } : {}),
  } as RequestInit);
}

export async function respond(answer: Response, response: ServerResponse): Promise<void> {
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  if (answer.body === null) response.end();
  else await pipeline(Readable.fromWeb(answer.body as Parameters<typeof Readable.fromWeb>[0]), response);
}
