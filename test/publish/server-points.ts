/** Every statement to the server counts as an operation: a publisher can be stopped before it is sent, or before it is answered. */
import pg from "pg";
import { HoldfastError } from "../../src/support/errors.js";
import { faults } from "../fixtures/fault-injection.mjs";
import { administer } from "../postgres/server.js";

type Query = (...args: unknown[]) => Promise<unknown>;

export function watchServer(): void {
  const prototype = pg.Client.prototype as unknown as { query: Query };
  const { query } = prototype;
  prototype.query = function (this: pg.Client, ...args: unknown[]) {
    const name = nameOf(args[0]);
    if (name === null) return query.apply(this, args);
    const onAnswer = args.findLast((each) => typeof each === "function") as
      | ((...answer: unknown[]) => void)
      | undefined;
    const answer = pointed(name, () => promised(this, query, onAnswer === undefined ? args : args.slice(0, -1)));
    if (onAnswer === undefined) return answer;
    answer.then((result) => onAnswer(null, result), onAnswer);
    return undefined as never;
  };
}

/** The driver answers a query that brings its own ways on the wire by a callback only. */
function promised(client: pg.Client, query: Query, args: unknown[]): Promise<unknown> {
  const isOwn = typeof (args[0] as { submit?: unknown } | null)?.submit === "function";
  if (!isOwn) return query.apply(client, args);
  return new Promise((resolve, reject) => {
    query.call(client, ...args, (error: Error | null, answer: unknown) => (error ? reject(error) : resolve(answer)));
  });
}

/** Statements of ours; a new connection asks a question of its own, once in a while. */
function nameOf(statement: unknown): string | null {
  const text = typeof statement === "string" ? statement : ((statement as { text?: string } | null)?.text ?? "");
  return /^(?:select holdfast\.(\w+)|(BEGIN|COMMIT))/.exec(text)?.slice(1).find(Boolean) ?? null;
}

/** What a dead client was never told has happened all the same. */
async function pointed(name: string, send: () => Promise<unknown>): Promise<unknown> {
  let sent: Promise<unknown> | null = null;
  try {
    faults.assertNotStopped();
    faults.point(name, () => {
      sent = send();
    });
  } catch (error) {
    await (sent as Promise<unknown> | null)?.catch(() => undefined);
    if ((error as NodeJS.ErrnoException).code !== undefined) throw error;
    throw new HoldfastError("E_IO", "stopped here", { cause: error });
  }
  return sent;
}

/** The server has noticed that the dead are gone; then their leases run out. */
export async function outlive(url: string, ms: number): Promise<void> {
  const isBusy = "xact_start is not null and pid <> pg_backend_pid() and datname = current_database()";
  for (;;) {
    const busy = await administer(
      url,
      `select 1 from pg_stat_activity where backend_type = 'client backend' and ${isBusy}`,
    );
    if (busy.length === 0) break;
  }
  await administer(url, `update holdfast.grants set renewed_ms = renewed_ms - ${ms}`);
}
