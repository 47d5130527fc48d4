/**
 * Detects a pooler between this process and the server: it reports another process id than the backend has. What is
 * said to one backend (LISTEN, a prepared statement) is then unknown to the next, so nothing of that kind is said.
 */
import type pg from "pg";

export async function hasPoolerInBetween(client: pg.ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  return rows[0]?.pid !== (client as unknown as { processID: number | null }).processID;
}
