// Fills a SQLite store with many locks in seconds: takes the row of a real one as the model of all others. Columns are
// copied as they are found, except those that name the lock.
import { DatabaseSync } from "@photostructure/sqlite";

/** Expects the locks `other-0` and `<tree>/0`, and adds the rest as if they had been taken one by one. */
export function copyLocks(path, { tree, others, siblings }) {
  const database = new DatabaseSync(path);
  database.exec("PRAGMA cache_size = -1000000; PRAGMA synchronous = OFF");
  database.exec("BEGIN IMMEDIATE");
  const lock_id = "lower(hex(randomblob(18)))";
  copy(database, "dal_locks", "resource", "other-0", others, { lock_id, resource: "'other-' || i" });
  copy(database, "dal_locks", "resource", `${tree}/0`, siblings, { lock_id, resource: `'${tree}/' || i` });
  copy(database, "trees", "tree", "other-0", others, { tree: "'other-' || i" });
  database.prepare("UPDATE trees SET held = ? WHERE tree = ?").run(siblings, tree);
  database.exec("COMMIT");
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  database.close();
}

/** Copies 1 to `count` - 1 of the row whose `named` column is `model`; `changed` has the expressions that differ. */
function copy(database, table, named, model, count, changed) {
  const columns = columnsOf(database, table);
  const values = columns.map((column) => changed[column] ?? `model.${column}`);
  database.exec(`CREATE TEMP TABLE model AS SELECT * FROM ${table} WHERE ${named} = '${model}'`);
  database.exec(
    `WITH RECURSIVE numbers (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < ${count - 1})
     INSERT INTO ${table} (${columns.join(", ")}) SELECT ${values.join(", ")} FROM numbers, model`,
  );
  database.exec("DROP TABLE temp.model");
}

/** Without a key that SQLite counts up by itself. */
function columnsOf(database, table) {
  return database
    .prepare(`PRAGMA table_info(${table})`)
    .all()
    .filter(({ pk, type }) => pk === 0 || type !== "INTEGER")
    .map(({ name }) => name);
}
