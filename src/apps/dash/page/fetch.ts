/** Sends requests to the server, and keeps the state of the connection. */
import type { RefusalView } from "../views.js";
import { createCell } from "./cell.js";
import { setServerTime } from "./clock.js";

export interface Connection {
  /** The session ended: nothing more will be answered. */
  readonly isOver: boolean;
  readonly isFailing: boolean;
  /** By this machine's clock; null before the first answer. */
  readonly answeredAt: number | null;
  /** When what is not answered yet was sent. */
  readonly askedAt: number | null;
}

export const connection = createCell<Connection>({ isOver: false, isFailing: false, answeredAt: null, askedAt: null });

interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly next: readonly string[];
}

/** An answer that takes longer does not come any more. */
const LONGEST_MS = 60_000;

/** The server answered, but not with what was asked for. */
export class Refused extends Error {
  readonly code: string;
  readonly next: readonly string[];

  constructor({ code, message, next }: Refusal) {
    super(message);
    this.code = code;
    this.next = next;
  }
}

/** Throws `Refused`, or whatever `fetch` throws when nobody answers. */
export async function ask<T extends { readonly now: string }>(path: string, init: RequestInit = {}): Promise<T> {
  const sentAt = Date.now();
  note({ askedAt: connection.get().askedAt ?? sentAt });
  try {
    const signal = AbortSignal.any([AbortSignal.timeout(LONGEST_MS), ...(init.signal == null ? [] : [init.signal])]);
    const response = await fetch(path, { ...init, signal, headers: { accept: "application/json", ...init.headers } });
    const body = parsed(await response.text());
    const answeredAt = Date.now();
    note({ isFailing: false, answeredAt, askedAt: null, isOver: response.status === 401 });
    if (!response.ok || body === null) throw new Refused(refusalIn(body, response.status));
    setServerTime((body as T).now, (sentAt + answeredAt) / 2);
    return body as T;
  } catch (error) {
    if (!(error instanceof Refused)) note({ askedAt: null, isFailing: init.signal?.aborted !== true });
    throw error;
  }
}

export function act<T extends { readonly now: string }>(name: string, body: unknown): Promise<T> {
  return ask<T>(`/api/actions/${name}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

function note(change: Partial<Connection>): void {
  const before = connection.get();
  connection.set({ ...before, ...change, isOver: before.isOver || change.isOver === true });
}

/** Letters that turn the direction of all that follows: what somebody wrote must not make other words read differently. */
const TURNING = /[\u202a-\u202e\u2066-\u2069]/g;

/** Null when it is no answer of ours. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text.replace(TURNING, "\ufffd"));
  } catch {
    return null;
  }
}

function refusalIn(body: unknown, status: number): Refusal {
  const error = (body as RefusalView | null)?.error;
  if (typeof error?.message === "string") return { ...error, next: error.next ?? [] };
  return { code: `HTTP ${status}`, message: `the server answered ${status}`, next: [] };
}
