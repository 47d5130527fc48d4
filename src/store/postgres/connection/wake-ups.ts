/**
 * Wakes waiters by NOTIFY: a release notifies the channel of the next waiter, in the same commit. A process has one
 * listening connection, however many wait; it is made with the first wait, and made again when it breaks. While it is
 * down no notification arrives: then the waiters poll.
 *
 * The connection also holds an advisory lock for each client it listens for. It shows the server that the client listens,
 * so that a release grants the next waiter its key before the waiter requests it again (sql/verbs/46-hand-over.sql): the
 * answer comes with the wake-up.
 *
 * Behind a pooler no notification would arrive either, and a LISTEN there would continue for the next client of its
 * backend: so no process listens there, and all waiters poll.
 */
import pg from "pg";
import type { WakeUps } from "../../contract.js";
import { createListeners } from "../../local/listeners.js";
import { hasPoolerInBetween } from "../pooler.js";

const RECONNECT_MS = 200;
const CONNECT_MS = 4_000;
/** A wake-up can come before its waiter listens: it is kept for this long. */
const KEEP_UNHEARD_MS = 5_000;
const CHANNEL = "holdfast_";

export interface PostgresWakeUps extends WakeUps {
  /** True when the server knows that this client hears what it is told. */
  isListening(nonce: string): boolean;
  /** What came with a wake-up, once. Anybody may have sent it. */
  takeAnswer(ticketId: string): string | undefined;
  /** Stops listening for this client. */
  forget(nonce: string): void;
  close(): void;
}

export function createWakeUps(url: string): PostgresWakeUps {
  const listeners = createListeners();
  /** Clients that have waited, and whether their channel is being listened to. */
  const nonces = new Map<string, boolean>();
  const unheard = new Map<string, number>();
  const answers = new Map<string, { readonly told: string; readonly at: number }>();
  let client: pg.Client | null = null;
  let isReady = false;
  let isClosed = false;
  let isBehindPooler = false;
  /** A connection does one thing at a time. */
  let lastSaid: Promise<unknown> = Promise.resolve();

  const say = (to: pg.Client, statement: string): Promise<unknown> => {
    const said = lastSaid.then(() => to.query(statement));
    lastSaid = said.catch(() => undefined);
    return said;
  };

  const hear = ({ channel, payload = "" }: pg.Notification): void => {
    const nonce = channel.slice(CHANNEL.length);
    if (payload === "") {
      listeners.callAll(nonce);
      return;
    }
    const now = performance.now();
    for (const [ticketId, at] of unheard) if (now - at > KEEP_UNHEARD_MS) unheard.delete(ticketId);
    for (const [ticketId, { at }] of answers) if (now - at > KEEP_UNHEARD_MS) answers.delete(ticketId);
    const [, ticketId = payload, told] = /^(\S+) (.*)$/s.exec(payload) ?? [];
    if (told !== undefined) answers.set(ticketId, { told, at: now });
    if (!listeners.callOne(nonce, ticketId)) unheard.set(ticketId, now);
  };

  const subscribe = async (to: pg.Client, nonce: string): Promise<void> => {
    await say(to, `LISTEN "${CHANNEL}${nonce}"; select pg_try_advisory_lock(${lockOf(nonce)})`);
    if (!nonces.has(nonce)) return;
    nonces.set(nonce, true);
    listeners.callAll(nonce);
  };

  const lose = (lost: pg.Client): void => {
    if (client !== lost) return;
    client = null;
    isReady = false;
    for (const nonce of nonces.keys()) nonces.set(nonce, false);
    lost.removeAllListeners("notification");
    lost.end().catch(() => undefined);
    setTimeout(start, RECONNECT_MS).unref();
  };

  const start = (): void => {
    if (isClosed || isBehindPooler || client !== null || nonces.size === 0) return;
    const next = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: CONNECT_MS,
      keepAlive: true,
      application_name: "holdfast wake-ups",
    });
    client = next;
    next.on("error", () => lose(next));
    next.on("end", () => lose(next));
    next.on("notification", hear);
    next
      .connect()
      .then(async () => {
        // A program that is done does not stay for it.
        (next as unknown as { unref(): void }).unref();
        // mutant: postgres-pooler: isBehindPooler = await hasPoolerInBetween(next); →
        isBehindPooler = await hasPoolerInBetween(next);
        if (isBehindPooler) return lose(next);
        isReady = true;
        for (const nonce of [...nonces.keys()]) await subscribe(next, nonce);
      })
      .catch(() => lose(next));
  };

  return {
    listen(nonce, ticketId, onWake) {
      const isListening = nonces.get(nonce) === true;
      if (!nonces.has(nonce)) {
        nonces.set(nonce, false);
        if (client === null) start();
        else if (isReady) subscribe(client, nonce).catch(() => undefined);
      }
      return listeners.add(nonce, ticketId, onWake, !(isListening || isBehindPooler) || unheard.delete(ticketId));
    },
    isListening: (nonce) => nonces.get(nonce) === true,
    takeAnswer(ticketId) {
      const answer = answers.get(ticketId);
      answers.delete(ticketId);
      return answer?.told;
    },
    forget(nonce) {
      if (!nonces.delete(nonce) || client === null) return;
      say(client, `select pg_advisory_unlock(${lockOf(nonce)}); UNLISTEN "${CHANNEL}${nonce}"`).catch(() => undefined);
    },
    close() {
      isClosed = true;
      nonces.clear();
      client?.end().catch(() => undefined);
    },
  };
}

/** As holdfast.listener_of has it. A nonce has no quotes in it. */
function lockOf(nonce: string): string {
  return `hashtextextended('${CHANNEL}${nonce}', 0)`;
}
