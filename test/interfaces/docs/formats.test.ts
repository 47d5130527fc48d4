/** docs/formats.md shows what is really written. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { openDeliverable } from "../../../src/deliverable.js";
import { raiseMark } from "../../../src/files/target-mark.js";
import {
  type Contention,
  type Holdfast,
  type HoldfastError,
  type LockStatus,
  openHoldfast,
} from "../../../src/index.js";
import { AUDIT_EVENTS } from "../../../src/lock/audit.js";
import { publish } from "../../../src/publish.js";
import type { TreeRecord } from "../../../src/store/file/tree/tree-record.js";
import { MIGRATIONS } from "../../../src/store/sqlite/connection/schema.js";
import { page, unwrapped } from "../../fixtures/pages.fixture.js";

describe("docs/formats.md", () => {
  const text = page("docs/formats.md");
  let dir: string;
  let ours: Holdfast;
  let theirs: Holdfast;

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), "holdfast-formats-"));
    ours = await openHoldfast({ store: `file:${dir}`, heart: "loop", owner: "agent:ours" });
    theirs = await openHoldfast({ store: `file:${dir}`, heart: "loop", owner: "agent:theirs" });
    await ours.acquire("issue:42", { ttl: "24h" });
  });

  afterAll(async () => {
    await ours.close();
    await theirs.close();
    rmSync(dir, { recursive: true, force: true });
  });

  /** The first block of JSON behind these words. */
  function documented<T>(behind: string): T {
    const [, block = ""] = /^```json\n(.*?)^```$/ms.exec(text.slice(text.indexOf(behind))) ?? [];
    return JSON.parse(block) as T;
  }

  function stored<T>(...path: string[]): T {
    return JSON.parse(readFileSync(join(dir, ...path), "utf8")) as T;
  }

  it("LOCK-4 has the fields of a grant record", async () => {
    const [record] = await ours.list();
    expect(Object.keys(documented("## Grant record"))).toEqual(Object.keys(record ?? {}));
  });

  it("has the fields of a status and of a waiter", async () => {
    const enough = new AbortController();
    const waiting = theirs.acquire("issue:42", { wait: "1h", signal: enough.signal }).catch(() => undefined);
    const status = await vi.waitUntil(async () => {
      const seen = await ours.inspect("issue:42");
      return seen.waiters.length > 0 && seen;
    }, 120_000);
    enough.abort();
    const shown = documented<LockStatus>("## Lock status");
    expect(Object.keys(shown)).toEqual(Object.keys(status));
    expect(Object.keys(shown.waiters[0] ?? {})).toEqual(Object.keys(status.waiters[0] ?? {}));
    await waiting;
  });

  it("AUDIT-1 has the fields of an entry, and every event", async () => {
    const [entry] = await ours.audit.list();
    expect(Object.keys(documented("## Audit entry"))).toEqual(Object.keys(entry ?? {}));
    const events = [...text.matchAll(/^\|\s*`([a-z_]+)`\s*\|.*\|.*\|$/gm)].map(([, event]) => event);
    expect([...AUDIT_EVENTS].filter((event) => !events.includes(event))).toEqual([]);
  });

  it("LOCK-14 has the fields of a contention report and of an error", async () => {
    const refusal = (await theirs.acquire("issue:42", { wait: 0 }).catch((error) => error)) as HoldfastError;
    const report = refusal.details.contention as Contention;
    const shown = documented<Contention>("## Contention report");
    expect(Object.keys(shown)).toEqual(Object.keys(report));
    expect(Object.keys(shown.holders[0] ?? {})).toEqual(Object.keys(report.holders[0] ?? {}));
    const mistake = await ours.acquire("issue:42", { ttl: "10ms" }).catch((error) => error);
    expect(documented("## Error")).toEqual(JSON.parse(JSON.stringify(mistake)));
  });

  it("STORE-2 has the fields of the files", () => {
    const { machine, store_id: _shown, ...agreed } = documented<Record<string, unknown>>("`store.json`:");
    const { machine: recorded, store_id: id, ...settings } = stored<Record<string, unknown>>("store.json");
    expect(agreed).toEqual(settings);
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    expect(Object.keys(machine ?? {})).toEqual(Object.keys(recorded ?? {}));
    const tree = stored<TreeRecord>("locks", "issue%3a42", "tree.json");
    const shown = documented<TreeRecord>("`tree.json`, one line");
    expect(Object.keys(shown)).toEqual(Object.keys(tree));
    expect(Object.keys(shown.grants[0] ?? {})).toEqual(Object.keys(tree.grants[0] ?? {}));
    expect(Object.keys(shown.grants[0]?.store ?? {})).toEqual(Object.keys(tree.grants[0]?.store ?? {}));
    const [nonce = ""] = readdirSync(join(dir, "alive"));
    expect(Object.keys(documented("## Proof file"))).toEqual(Object.keys(stored("alive", nonce)));
  });

  it("PUB-2 has the fields of a manifest", async () => {
    mkdirSync(join(dir, "place"));
    const { manifest } = await publish({ holdfast: ours, key: "site" }, join(dir, "place", "out"), (stage) =>
      stage.write("a", "b"),
    );
    expect(Object.keys(documented("## Manifest"))).toEqual(Object.keys(manifest));
  });

  it("FENCE-5 has the fields of the mark beside a target", async () => {
    mkdirSync(join(dir, "marked"));
    await raiseMark(join(dir, "marked", "site"), { store: "s", tree: "site", fencingToken: 7 });
    const [name = ""] = readdirSync(join(dir, "marked", ".holdfast-fence")).filter((each) => each.endsWith(".json"));
    const written = stored<Record<string, unknown>>("marked", ".holdfast-fence", name);
    expect(Object.keys(documented("## Mark beside a target"))).toEqual(Object.keys(written));
    expect(written).toMatchObject({ target: "site", fencing_token: 7 });
  });

  it("DELIV-2 DELIV-3 has the fields of a deliverable's lock and of its log", async () => {
    const folder = join(dir, "DEL-08-05");
    mkdirSync(folder);
    const lock = await openDeliverable(folder, { holder: "agent:writer" }).lock();
    const shown = documented<{ store: object }>("`_LOCK.json`:");
    const written = stored<{ store: object }>("DEL-08-05", "_LOCK.json");
    expect(Object.keys(shown)).toEqual(Object.keys(written));
    expect(Object.keys(shown.store)).toEqual(Object.keys(written.store));
    const line = documented<object>("A line of `_LOCK.log.jsonl`:");
    expect(Object.keys(line)).toEqual(Object.keys(stored<object>("DEL-08-05", "_LOCK.log.jsonl")));
    await lock.unlock();
  });

  it("STORE-3 has the tables as they are made", () => {
    const [, block = ""] = /^```sql\n(.*?)^```$/ms.exec(text) ?? [];
    expect(unwrapped(block)).toBe(unwrapped(MIGRATIONS.map(({ sql }) => sql).join("\n")));
  });

  it("STORE-4 has the tables of PostgreSQL as they are made, and every SQLSTATE", () => {
    const sql = ["01-tables", "03-manifests"].map((name) => page(`src/store/postgres/sql/tables/${name}.sql`)).join("");
    const made = sql.matchAll(/^create (?:unlogged )?table .*?^\)/gms);
    const tables = [...made].map(([table]) => `${table};`);
    const [, block = ""] = /^```sql\n(create table holdfast.*?)^```$/ms.exec(text) ?? [];
    expect(unwrapped(block)).toBe(unwrapped(tables.join("\n\n")));
    const states = [...page("src/store/postgres/sql/rules/10-errors.sql").matchAll(/'(E_\w+)' then '(HF\d+)'/g)];
    for (const [, code, state] of states) expect(text).toMatch(new RegExp(`\\x60${state}\\x60 +\\| \\x60${code}\\x60`));
  });
});
