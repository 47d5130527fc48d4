import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, it } from "vitest";
import { describeStoreContract, type Tampering } from "./store-contract.fixture.js";

let folder: string;
let stores = 0;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-sqlite-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Raw {
  exec(sql: string): void;
  prepare(sql: string): { get(...values: unknown[]): unknown; run(...values: unknown[]): void };
  close(): void;
}

/** By other means than the store's own, as somebody with a database tool would. */
function change(url: string, how: (database: Raw) => void): void {
  const { DatabaseSync } = createRequire(import.meta.url)("@photostructure/sqlite") as {
    DatabaseSync: new (path: string) => Raw;
  };
  const database = new DatabaseSync(url.slice("sqlite:".length));
  how(database);
  database.close();
}

/** The newest entries of a chain stand in the row of its tree, a line each. */
function tamperWithTail(database: Raw, tree: string, how: Tampering, seq: number): void {
  const { tail, tail_seq } = database.prepare("SELECT tail, tail_seq FROM trees WHERE tree = ?").get(tree) as {
    tail: string;
    tail_seq: number;
  };
  const lines = tail.split("\n").slice(0, -1);
  const at = seq - tail_seq;
  if (how === "edit") lines[at] = lines[at]?.replace("released", "granted") ?? "";
  else if (how === "ruin") lines[at] = "{}";
  else lines.splice(at, how === "cut" ? lines.length : 1);
  database.prepare("UPDATE trees SET tail = ? WHERE tree = ?").run(`${lines.join("\n")}\n`, tree);
}

describeStoreContract(
  {
    name: "sqlite",
    // The heart thread loads compiled code; test/processes/client covers it.
    options: { heart: "loop" },
    newStore: () => {
      stores += 1;
      return `sqlite:${join(folder, String(stores), "locks.db")}`;
    },
    spoil: (url, key, how) =>
      change(url, (database) =>
        database.exec(
          how === "newer"
            ? `UPDATE dal_locks SET details = json_set(coalesce(details, '{}'), '$.schema_version', 99)
               WHERE resource = '${key}'`
            : `UPDATE dal_locks SET details = '{"torn' WHERE resource = '${key}'`,
        ),
      ),
    outdate: (url) => change(url, (database) => database.exec("PRAGMA user_version = 99")),
    tamper: (url, tree, how, seq) => change(url, (database) => tamperWithTail(database, tree, how, seq)),
  },
  { describe: describe.concurrent, it },
);
