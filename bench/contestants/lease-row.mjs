// The least that a lease in SQLite can be: one row per key with a counter, taken in one transaction and given back in
// another, with the driver and the durability that Holdfast uses. No line, no tree, no audit, no proof of life.
import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";

const LEASE_MS = 30_000;

export async function openLeaseRow(folder) {
  const database = new DatabaseSync(join(folder, "leases.db"));
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
  database.exec("CREATE TABLE leases (key TEXT PRIMARY KEY, holder TEXT, fence INTEGER, until INTEGER) WITHOUT ROWID");
  const begin = database.prepare("BEGIN IMMEDIATE");
  const commit = database.prepare("COMMIT");
  const put = database.prepare(
    `INSERT INTO leases VALUES (?, ?, 1, ?) ON CONFLICT (key) DO UPDATE
       SET holder = excluded.holder, fence = fence + 1, until = excluded.until WHERE until < ? RETURNING fence`,
  );
  const clear = database.prepare("UPDATE leases SET until = 0 WHERE key = ? AND holder = ?");
  const holder = String(process.pid);

  const inTransaction = (work) => {
    begin.run();
    const result = work();
    commit.run();
    return result;
  };
  return {
    async take(key) {
      const now = Date.now();
      const row = inTransaction(() => put.get(key, holder, now + LEASE_MS, now));
      if (row === undefined) throw new Error(`${key} is taken`);
      return { release: async () => inTransaction(() => clear.run(key, holder)) };
    },
    async close() {
      database.close();
    },
  };
}
