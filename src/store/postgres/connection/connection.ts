/**
 * The connection to the server: one small pool per process and URL, shared by all that open it. Every operation is one
 * statement, so nothing depends on a session and a transaction pooler may stand in between. Without one, the server
 * keeps the few statements prepared.
 *
 * A statement whose connection breaks may have been carried out or not. It is sent again for a short while, with the same
 * ids and the word `again`, so that the server can find the outcome of the first try. Then it fails with
 * `E_STORE_UNAVAILABLE`.
 */
import pg from "pg";
import { sleep } from "../../../base/sleep.js";
import { withoutPassword } from "../../../base/without-password.js";
import { jittered } from "../../../platform/jitter.js";
import type { SqlRow } from "../../contract.js";
import { hasPoolerInBetween } from "../pooler.js";
import { beginWith } from "./begin-with.js";
import type { Call } from "./call.js";
import { isLostConnection, TOO_MANY_CLIENTS, toCallersError, toHoldfastError } from "./error-codes.js";
import { Question } from "./query.js";
import { assertSupportedUrl } from "./supported-url.js";
import { createWakeUps, type PostgresWakeUps } from "./wake-ups.js";

const CONNECTIONS = 10;
/** Unless the URL says otherwise: `connect_timeout`, in seconds, as every client of PostgreSQL has it. */
const CONNECT_MS = 4_000;
/** Longer than the functions wait for a guard. */
const ANSWER_MS = 6_000;
const IDLE_MS = 30_000;
/** A broken connection is tried again for this long. */
const TRY_AGAIN_MS = 2_500;
const FIRST_PAUSE_MS = 25;

export interface Connection {
  /** Where it leads, without the password. */
  readonly where: string;
  readonly wakeUps: PostgresWakeUps;
  /** The first column of the first row. `statement` is told whether it is sent again. */
  ask<T>(statement: Statement): Promise<T>;
  /** The same as the server writes it, for what is asked all the time. */
  askText(statement: Statement): Promise<string | null>;
  rows<T>(text: string, values: readonly unknown[]): Promise<readonly T[]>;
  /** Lends a connection to `work`, which begins a transaction and ends it, or cuts it off. */
  transaction<T>(work: (session: Session) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** One connection: statements one after the other. */
export interface Session {
  /** A statement of ours: fails with a coded error. */
  readonly query: Query;
  /** The same, and numbers of 64 bits come as numbers: ours are small enough. One with a name is kept by the server. */
  readonly stepQuery: (text: string, values: readonly unknown[], name?: string) => Promise<SqlRow[]>;
  /** Begins a transaction with this statement, as `stepQuery`. */
  readonly begin: (statement: Call) => Promise<SqlRow[]>;
  /** Several statements of ours in one message, without values. */
  readonly together: (text: string) => Promise<void>;
  /** A statement of the caller's: an error in it is the caller's own, and is passed on as it is. */
  readonly callersQuery: Query;
  cut(): void;
}

export type Query = (text: string, values?: readonly unknown[]) => Promise<SqlRow[]>;

/** A statement by whether it is sent again. */
type Statement = (again: boolean) => Call;

interface Shared {
  readonly pool: pg.Pool;
  /** Whether no pooler stands in between; null before the first connection. */
  isDirect: boolean | null;
  readonly wakeUps: PostgresWakeUps;
  users: number;
}

const INT8 = pg.types.builtins.INT8;
const PLAIN_NUMBERS: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: "text" | "binary") =>
    oid === INT8 ? Number : pg.types.getTypeParser(oid, format as "text")) as typeof pg.types.getTypeParser,
};

const shared = new Map<string, Shared>();

export function connect(url: string): Connection {
  const line = shared.get(url) ?? openLine(url);
  line.users += 1;
  const { pool, wakeUps } = line;
  const where = withoutPassword(url);

  const nameOf = ({ name }: Call): string | undefined => (line.isDirect === true ? name : undefined);

  async function send<T>(statement: Statement, query: (call: Call) => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    for (let pauseMs = FIRST_PAUSE_MS, again = false; ; pauseMs *= 2, again = true) {
      try {
        return await query(statement(again));
      } catch (error) {
        if (!isLostConnection(error) || performance.now() - startedAt > TRY_AGAIN_MS)
          throw toHoldfastError(asBusy(error), where);
        await sleep(jittered(0.5 * pauseMs, 1.5 * pauseMs));
      }
    }
  }

  return {
    where,
    wakeUps,
    async ask<T>(statement: Statement): Promise<T> {
      const { rows } = await send(statement, (call) => {
        const name = nameOf(call);
        const config = { text: call.text, values: [...call.values], rowMode: "array" as const };
        return pool.query<[T]>(name === undefined ? config : { ...config, name });
      });
      const [row] = rows;
      if (row === undefined) throw new RangeError("the function gave no answer");
      return row[0];
    },
    askText: (statement) =>
      send(statement, (call) => pool.query(new Question(call, nameOf(call))) as unknown as Promise<string | null>),
    rows: <T>(text: string, values: readonly unknown[]) =>
      send(
        () => ({ text, values }),
        async () => (await pool.query(text, [...values])).rows as T[],
      ),
    async transaction(work) {
      const send = async (text: string, values: readonly unknown[] = [], more: Partial<pg.QueryConfig> = {}) => {
        // One statement at a time: the other protocol would take several in one text.
        const config = { text, values: [...values], queryMode: "extended", ...more };
        return (await client.query<SqlRow>(config)).rows;
      };
      const coded = (error: unknown) => Promise.reject(toHoldfastError(error, where));
      const session: Session = {
        query: (text, values) => send(text, values).catch(coded),
        stepQuery: (text, values, name) =>
          send(text, values, {
            types: PLAIN_NUMBERS,
            ...(name !== undefined && line.isDirect === true ? { name } : {}),
          }).catch(coded),
        begin: ({ text, values, name }) =>
          beginWith(client, {
            text,
            values: [...values],
            types: PLAIN_NUMBERS,
            ...(name !== undefined && line.isDirect === true ? { name } : {}),
          }).catch(coded),
        together: async (text) => {
          await client.query(text).catch(coded);
        },
        callersQuery: (text, values) =>
          send(text, values).catch((error: unknown) => Promise.reject(toCallersError(error, where))),
        cut: () => destroy(client),
      };
      const client = await pool.connect().catch((error: unknown) => {
        throw toHoldfastError(asBusy(error), where);
      });
      let isDone = false;
      try {
        const result = await work(session);
        isDone = true;
        return result;
      } finally {
        // One that is left in the middle is closed, and the server rolls back: nobody else gets it in that state.
        client.release(!isDone);
      }
    },
    async close() {
      line.users -= 1;
      if (line.users > 0) return;
      shared.delete(url);
      wakeUps.close();
      await pool.end();
    },
  };
}

function openLine(url: string): Shared {
  assertSupportedUrl(url);
  const meet = async (client: pg.ClientBase): Promise<void> => {
    line.isDirect ??= !(await hasPoolerInBetween(client));
  };
  const pool = new pg.Pool({
    connectionString: url,
    max: CONNECTIONS,
    connectionTimeoutMillis: connectMsOf(url),
    query_timeout: ANSWER_MS,
    idleTimeoutMillis: IDLE_MS,
    allowExitOnIdle: true,
    keepAlive: true,
    application_name: "holdfast",
    verify: (client, done) => void meet(client).then(() => done(), done),
  });
  // An idle connection that breaks is replaced when it is needed.
  pool.on("error", ignore);
  // One that breaks between two statements says so out of turn; the next statement fails, and that is enough.
  pool.on("connect", (client) => client.on("error", ignore));
  const line: Shared = { pool, isDirect: null, wakeUps: createWakeUps(url), users: 0 };
  shared.set(url, line);
  return line;
}

/** The pool says only that time ran out. The SQLSTATE is what a server says of its own connections. */
function asBusy(error: unknown): unknown {
  return error instanceof Error && error.message === "timeout exceeded when trying to connect"
    ? Object.assign(new Error(`all ${CONNECTIONS} connections of this process are in use`, { cause: error }), {
        code: TOO_MANY_CLIENTS,
      })
    : error;
}

function connectMsOf(url: string): number {
  const seconds = Number(/[?&]connect_timeout=(\d+)/.exec(url)?.[1] ?? 0);
  return seconds > 0 ? seconds * 1_000 : CONNECT_MS;
}

function ignore(): void {}

function destroy(client: pg.PoolClient): void {
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}
