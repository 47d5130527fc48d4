import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, it } from "vitest";
import { describeStoreContract } from "../../src/testing/index.js";

let folder: string;
let stores = 0;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-sqlite-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** By other means than the store's own, as somebody with a database tool would. */
function change(url: string, sql: string): void {
  const { DatabaseSync } = createRequire(import.meta.url)("@photostructure/sqlite") as {
    DatabaseSync: new (path: string) => { exec(sql: string): void; close(): void };
  };
  const database = new DatabaseSync(url.slice("sqlite:".length));
  database.exec(sql);
  database.close();
}

describeStoreContract(
  {
    name: "sqlite",
    // The heart thread loads compiled code; test/lease covers it.
    options: { heart: "loop" },
    newStore: () => {
      stores += 1;
      return `sqlite:${join(folder, String(stores), "locks.db")}`;
    },
    spoil: (url, key, how) =>
      change(
        url,
        how === "newer"
          ? `UPDATE dal_locks SET details = json_set(details, '$.schema_version', 99) WHERE resource = '${key}'`
          : `UPDATE dal_locks SET details = '{"torn' WHERE resource = '${key}'`,
      ),
    outdate: (url) => change(url, "PRAGMA user_version = 99"),
    tamper: (url, tree, how, seq) =>
      change(
        url,
        how === "edit"
          ? `UPDATE audit SET entry = replace(entry, 'agent:', 'user:') WHERE tree = '${tree}' AND seq = ${seq}`
          : `DELETE FROM audit WHERE tree = '${tree}' AND seq ${how === "cut" ? ">=" : "="} ${seq}`,
      ),
  },
  { describe: describe.concurrent, it },
);
