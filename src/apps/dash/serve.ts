/** The server of the page, on the loopback: the check of access, the files of the page, the endpoints and the actions. */
import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { ERRORS, type ErrorCode, HoldfastError, ioError, isHoldfastError } from "../../base/errors.js";
import {
  closeServer,
  createLoopbackGuard,
  createLoopbackServer,
  LOOPBACK,
  listenOnLoopback,
} from "../../platform/loopback.js";
import { Door } from "./access.js";
import { ACTIONS, parseGiven } from "./actions.js";
import { about } from "./endpoints/about.js";
import { LOOKS } from "./endpoints/index.js";
import { Query } from "./query.js";
import { SharedLooks } from "./shared-answers.js";
import { requireStore, type Sources } from "./sources.js";
import type { RefusalView } from "./views.js";

export interface DashOptions {
  /** 0 for any. */
  readonly port: number;
  readonly allowsActions: boolean;
  /** The folder with the page's files. */
  readonly page: URL;
  readonly version: string;
  /** Told of the next link when one was used. */
  onEntered(link: string): void;
  onError(error: Error): void;
}

export interface Dash {
  /** Opens the page, once. */
  readonly link: string;
  close(): Promise<void>;
}

const FILES: Readonly<Record<string, { readonly name: string; readonly type: string }>> = {
  "/": { name: "index.html", type: "text/html; charset=utf-8" },
  "/page.js": { name: "page.js", type: "text/javascript; charset=utf-8" },
  "/page.css": { name: "page.css", type: "text/css; charset=utf-8" },
};

/** The page gets everything from here, runs nothing of anybody else's, and stands in nobody's frame. */
const HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

/** Advice that speaks of fields of the error, which nobody sees on a page. */
const FOR_PROGRAMS: readonly string[] = [ERRORS.E_INVALID_ARGUMENT.next, ERRORS.E_IO.next];

const JSON_TYPE = "application/json";
const MOST_BODY = 65_536;

const STATUS: Readonly<Partial<Record<ErrorCode, number>>> = {
  E_INVALID_ARGUMENT: 400,
  E_FORBIDDEN: 403,
  E_NOT_FOUND: 404,
  E_LOCK_CONFLICT: 409,
  E_STORE_UNAVAILABLE: 503,
  E_STORE_CORRUPT: 503,
  E_IO: 500,
};

/** `E_IO` when the port is taken. */
export async function serveDash(sources: Sources, options: DashOptions): Promise<Dash> {
  const http = createLoopbackServer();
  const port = await listenOnLoopback(http, options.port);
  const guard = createLoopbackGuard(port);
  const door = new Door(port);
  const shared = new SharedLooks();
  const link = (): string => `http://${LOOPBACK}:${port}/?token=${door.token}`;

  async function answer(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "GET", headers } = message;
    const why = guard.refusal(headers.host, headers.origin);
    // mutant: dash-host: if (why !== null) return plain(response, 403, why); →
    if (why !== null) return plain(response, 403, why);
    const [path = "/", search = ""] = (message.url ?? "/").split("?", 2);
    const values = new URLSearchParams(search);
    const token = values.get("token");
    // mutant: dash-preview: method === "GET" ? enter(response, token) : plain(response, 405, "a link is opened" → enter(response, token
    if (path === "/" && token !== null)
      return method === "GET" ? enter(response, token) : plain(response, 405, "a link is opened");
    // mutant: dash-door: if (!door.isInside(headers.cookie)) return plain(response, 401, NOT_INSIDE); →
    if (!door.isInside(headers.cookie)) return plain(response, 401, NOT_INSIDE);
    const file = FILES[path];
    if (method === "GET" && file !== undefined) return sendFile(response, file);
    const [, name = ""] = /^\/api\/(?:actions\/)?([a-z-]+)$/.exec(path) ?? [];
    if (path.startsWith("/api/actions/")) {
      if (method !== "POST") return plain(response, 405, "an action is posted");
      return json(response, await act(name, message));
    }
    if (method !== "GET") return plain(response, 405, "this is only looked at");
    if (name === "about") return json(response, withTime(about(sources, options.version, options.allowsActions)));
    requireStore(sources);
    const look = Object.hasOwn(LOOKS, name) ? LOOKS[name] : undefined;
    if (look === undefined) return plain(response, 404, "not here");
    const found = await shared.get(`${name}?${values}`, async () => withTime(await look(sources, new Query(values))));
    return json(response, found);
  }

  function enter(response: ServerResponse, token: string): void {
    const cookie = door.enter(token);
    if (cookie === null) {
      plain(response, 403, USED_LINK);
      return;
    }
    response.writeHead(303, { ...HEADERS, location: "/", "set-cookie": cookie }).end();
    options.onEntered(link());
  }

  function sendFile(response: ServerResponse, { name, type }: { name: string; type: string }): void {
    const content = contentOf(new URL(name, options.page));
    response.writeHead(200, { ...HEADERS, "content-type": type }).end(content);
  }

  async function act(name: string, message: IncomingMessage): Promise<string> {
    // mutant: dash-reads-only: if (!options.allowsActions) → if (Date.now() < 0)
    if (!options.allowsActions)
      throw new HoldfastError("E_FORBIDDEN", "this page only looks", { next: ["holdfast dash --allow-actions"] });
    // mutant: dash-order-origin: message.headers.origin === undefined || →
    // mutant: dash-order-type: || message.headers["content-type"] !== JSON_TYPE →
    if (message.headers.origin === undefined || message.headers["content-type"] !== JSON_TYPE)
      throw new HoldfastError("E_FORBIDDEN", "only the page itself may do this");
    const action = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined;
    if (action === undefined) throw new HoldfastError("E_NOT_FOUND", `there is no action ${name}`);
    const given = parseGiven(await bodyOf(message));
    requireStore(sources);
    const done = await action(sources, given);
    shared.forget();
    return withTime({ done });
  }

  http.on("request", (message, response) => {
    answer(message, response).catch((error: unknown) => {
      const isGone = message.errored !== null; // Whoever asked went away, which is nobody's fault.
      if (!isHoldfastError(error) && !isGone) options.onError(error as Error);
      refuse(response, error);
    });
  });
  http.on("error", options.onError);
  return {
    get link() {
      return link();
    },
    close: () => closeServer(http),
  };
}

const NOT_INSIDE = "Open the link that `holdfast dash` printed.";
const USED_LINK = "This link was used, or is an old one. `holdfast dash` prints a new one each time: look there.";

function contentOf(path: URL): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw ioError(error, "read", path.pathname);
  }
}

function withTime(view: object): string {
  return JSON.stringify({ now: new Date().toISOString(), ...view });
}

function json(response: ServerResponse, body: string, status = 200): void {
  response.writeHead(status, { ...HEADERS, "content-type": JSON_TYPE }).end(body);
}

/** Refuses. Whoever may not come in keeps no connection either. */
function plain(response: ServerResponse, status: number, text: string): void {
  const headers = { ...HEADERS, "content-type": "text/plain; charset=utf-8", connection: "close" };
  response.writeHead(status, headers).end(`${text}\n`);
}

function refuse(response: ServerResponse, error: unknown): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const told = isHoldfastError(error)
    ? error
    : new HoldfastError("E_IO", "it could not be looked up", { cause: error });
  const { code, message } = told;
  const next = told.next.filter((step) => !FOR_PROGRAMS.includes(step));
  const view: RefusalView = { error: { code, message, next } };
  json(response, JSON.stringify(view), STATUS[code] ?? 409);
}

async function bodyOf(message: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let size = 0;
  // What is too long is not cut off: whoever sends it would not see the answer.
  for await (const piece of message.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += piece.length;
    if (size > MOST_BODY) throw new HoldfastError("E_INVALID_ARGUMENT", "body: it is too long");
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}
