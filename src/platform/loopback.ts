/**
 * Starts servers on the loopback, and checks their requests. They accept programs of this machine, and pages that they
 * served themselves. A page from elsewhere is refused, whichever site it came from: it carries an Origin, and one that
 * points a name of its own here (DNS rebinding) carries its Host.
 */
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { HoldfastError, ioError } from "../base/errors.js";

export const LOOPBACK = "127.0.0.1";
/** A client that comes back to an idle connection must not find it just being closed. */
const KEEP_ALIVE_MS = 10 * 60_000;

/** A program of this machine says what it wants at once; one that does not keeps the others out. */
const HEADERS_MS = 15_000;
const WHOLE_REQUEST_MS = 60_000;
const LOOK_FOR_SLOW_MS = 5_000;
/** More than all browsers and agents of a machine have, and few enough that files can still be opened. */
const MOST_CONNECTIONS = 1_000;

export interface LoopbackGuard {
  /** Why a request is refused, or null. */
  refusal(host: string | undefined, origin: string | undefined): string | null;
}

const NAMES = [LOOPBACK, "localhost"];
/** What browsers leave out. */
const HTTP_PORT = 80;

export function createLoopbackGuard(port: number): LoopbackGuard {
  const hosts = new Set(NAMES.flatMap((name) => [`${name}:${port}`, ...(port === HTTP_PORT ? [name] : [])]));
  const origins = new Set([...hosts].map((host) => `http://${host}`));
  return {
    refusal(host, origin) {
      // mutant: mcp-host: if (host === undefined || !hosts.has(host.toLowerCase())) return "this host is not served here"; →
      if (host === undefined || !hosts.has(host.toLowerCase())) return "this host is not served here";
      // mutant: mcp-origin: if (origin !== undefined && !origins.has(origin)) return "this origin is not served here"; →
      if (origin !== undefined && !origins.has(origin)) return "this origin is not served here";
      return null;
    },
  };
}

/** With limits for those who open connections and do not use them; an answer may take as long as it takes. */
export function createLoopbackServer(listener?: RequestListener): Server {
  const limits = {
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: HEADERS_MS,
    requestTimeout: WHOLE_REQUEST_MS,
    connectionsCheckingInterval: LOOK_FOR_SLOW_MS,
  };
  const http = createServer(limits, listener);
  http.maxConnections = MOST_CONNECTIONS;
  return http;
}

/** The port it listens on; 0 asks for any. `E_IO` when it is taken. */
export function listenOnLoopback(http: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    http.once("error", (error) => reject(cannotListen(error, port)));
    http.listen(port, LOOPBACK, () => resolve((http.address() as AddressInfo).port));
  });
}

function cannotListen(error: Error, port: number): HoldfastError {
  const { code: errno } = error as NodeJS.ErrnoException;
  const why =
    errno === "EADDRINUSE"
      ? `port ${port} is taken`
      : errno === "EACCES"
        ? `you may not listen on port ${port}`
        : ioError(error, "listen on", `${LOOPBACK}:${port}`).message;
  const next = ["Choose another: --port 0 takes any that is free."];
  return new HoldfastError("E_IO", why, { cause: error, details: { port, errno }, next });
}

/** Also those who are still connected. */
export async function closeServer(http: Server): Promise<void> {
  const closed = new Promise((resolve) => http.close(resolve));
  http.closeAllConnections();
  await closed;
}
