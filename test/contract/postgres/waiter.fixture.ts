/** A client that asks in SQL, as the library does, with a session that can listen for it. */
import pg from "pg";
import { digestOf } from "../../../src/store/postgres/locks/token-digest.js";

/** The hash of a lease token. */
export const HASH = "s".repeat(43);
const SENT = digestOf(HASH);
const PROOF = '{"kind":"none"}';

export interface Told {
  readonly kind: string;
  readonly ticket_id: string;
  readonly fencing_token: number;
}

export class Waiter implements AsyncDisposable {
  readonly heard: string[] = [];
  readonly #session: pg.Client;
  readonly #nonce: string;
  readonly #lockId: string;

  private constructor(session: pg.Client, name: string) {
    this.#session = session;
    this.#nonce = name;
    this.#lockId = `00000000-0000-8000-8000-${Buffer.from(name.padEnd(6)).toString("hex")}`;
    session.on("notification", ({ payload = "" }) => this.heard.push(payload));
    session.on("error", () => undefined);
  }

  static async open(url: string, name: string): Promise<Waiter> {
    const session = new pg.Client({ connectionString: url });
    const waiter = new Waiter(session, name);
    await session.connect();
    return waiter;
  }

  async listen(): Promise<void> {
    await this.#session.query(
      `listen "holdfast_${this.#nonce}"; select pg_advisory_lock(holdfast.listener_of('${this.#nonce}'))`,
    );
  }

  async ask({
    ticket = null,
    isListening = true,
  }: {
    ticket?: string | null;
    isListening?: boolean;
  } = {}): Promise<Told> {
    const { rows } = await this.#session.query(
      `select holdfast.take('k', $1, 'write', 30000, null, 60000, '{}', $2, $3, $4, 'h', $5, $6, false, false, $7,
         (select (holdfast.described() ->> 'store_id')::uuid)) as told`,
      [`agent:${this.#nonce}`, SENT, ticket, this.#lockId, this.#nonce, PROOF, isListening],
    );
    return rows[0].told;
  }

  /** As a client that does not read what comes with a wake-up. */
  async askByAcquire(): Promise<Told> {
    const { rows } = await this.#session.query(
      `select holdfast.acquire('{k}', $1, wait_ms => 60000, token => $2, holder_id => 'h', nonce => $3, lock_ids => array[$4],
         proof => $5, store => (select (holdfast.described() ->> 'store_id')::uuid),
         detached => false) as told`,
      [`agent:${this.#nonce}`, SENT, this.#nonce, this.#lockId, PROOF],
    );
    return rows[0].told;
  }

  async release(): Promise<void> {
    await this.#session.query(
      `select holdfast.release('{k}', array[$1], $2, array[$3], 'h', (select (holdfast.described() ->> 'store_id')::uuid))`,
      [SENT, `agent:${this.#nonce}`, this.#lockId],
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#session.end();
  }
}
