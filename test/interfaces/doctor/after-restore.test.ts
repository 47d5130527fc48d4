/**
 * `holdfast doctor --after-restore`: a store that was restored is behind marks that its lost history left. The clock of
 * the lost machine was an hour ahead; otherwise the restored store is above them by itself.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openDal } from "../../../src/dal.js";
import { openHoldfast } from "../../../src/index.js";
import { Scene } from "../../fixtures/command.fixture.js";
import { administer, databaseOf, sharedServer } from "../../fixtures/postgres/server.fixture.js";
import { newPostgresStore } from "../../fixtures/postgres/stores.fixture.js";
import { openRaw } from "../../fixtures/sqlite/database.fixture.js";

const HOUR = 3_600_000_000;

let scene: Scene;
beforeEach(() => {
  scene = new Scene();
});
afterEach(() => scene.close());

const publishing = ["publish", "out", "--from", "build"];
const afterRestore = ["doctor", "--after-restore", "--owner", "user:ann"];

function markPath(): string {
  const folder = join(scene.root, ".holdfast-fence");
  const [name = ""] = readdirSync(folder).filter((each) => each.endsWith(".json"));
  return join(folder, name);
}

function markOf(): { tree: string; fencing_token: number } {
  return JSON.parse(readFileSync(markPath(), "utf8"));
}

/** A workspace whose server was lost after two publishes and restored from a copy of between them. */
async function restoredServer(): Promise<string> {
  const server = await sharedServer();
  const store = await newPostgresStore(server);
  await scene.data(["init", "--store", store]);
  mkdirSync(join(scene.root, "build"));
  writeFileSync(join(scene.root, "build", "page"), "one");
  await scene.data(publishing);
  const name = databaseOf(store);
  await administer(server.url, `create database ${name}_copy template ${name}`);
  await administer(store, `update holdfast.trees set fence = fence + ${HOUR}`);
  await scene.data(publishing);
  await administer(
    server.url,
    `alter database ${name} rename to ${name}_lost`,
    `alter database ${name}_copy rename to ${name}`,
  );
  return store;
}

describe("doctor --after-restore, with the store on a server", () => {
  // kills: restore-raises
  it("makes a target publishable again, and writes an audit entry", async () => {
    await restoredServer();
    const lost = markOf();
    expect(lost.tree).toBe("path");
    for (const _ of [1, 2]) {
      const { error } = await scene.json(publishing);
      expect(error).toMatchObject({ code: "E_FENCING_MISMATCH" });
      expect(error.next.join()).toContain("holdfast doctor --after-restore");
    }

    const { raised, marks } = await scene.data(afterRestore);
    expect(marks).toBe(1);
    expect(raised).toEqual([
      {
        tree: "path",
        mark: lost.fencing_token,
        where: markPath(),
        from: expect.any(Number),
        to: lost.fencing_token + 1,
      },
    ]);
    await scene.data(publishing);
    expect(markOf().fencing_token).toBeGreaterThan(lost.fencing_token);
    const { entries } = await scene.data(["audit", "list", "--event", "fence_raised"]);
    expect(entries).toMatchObject([
      {
        resource: "path",
        owner: "user:ann",
        fencing_token: lost.fencing_token + 1,
        details: { reason: "after_restore", above: lost.fencing_token },
      },
    ]);
    expect((await scene.data(["audit", "verify"])).ok).toBe(true);
    expect(await scene.data(afterRestore)).toMatchObject({ marks: 1, raised: [] });
  });

  // kills: restore-by-a-person
  it("is for a person: an agent is refused, also where there is nothing to raise", async () => {
    const store = await restoredServer();
    const [{ before } = {}] = await administer(store, "select json_agg(t.*)::text as before from holdfast.trees t");
    const { error } = await scene.json(["doctor", "--after-restore", "--owner", "agent:a"]);
    expect(error).toMatchObject({ code: "E_FORBIDDEN" });
    rmSync(markPath());
    expect((await scene.json(["doctor", "--after-restore", "--owner", "job:a"])).error).toMatchObject({
      code: "E_FORBIDDEN",
    });
    const [{ after } = {}] = await administer(store, "select json_agg(t.*)::text as after from holdfast.trees t");
    expect(after).toBe(before);
  });

  it("raises nothing while a mark cannot be read, or is far ahead of every clock", async () => {
    const store = await restoredServer();
    const mark = markOf();
    const fences = () => administer(store, "select tree, fence::text from holdfast.trees order by tree");
    const before = await fences();
    for (const text of ["{", JSON.stringify({ ...mark, fencing_token: 9_000_000_000_000_000 })]) {
      writeFileSync(markPath(), text);
      expect((await scene.json(afterRestore)).error).toMatchObject({ code: "E_STORE_CORRUPT" });
      expect(await fences()).toEqual(before);
    }
  });
});

describe.each(["sqlite", "file"])("doctor --after-restore, with a %s store that was copied back", (kind) => {
  it("makes a database writable again that has marks of the lost history", async () => {
    const home = join(scene.root, ".holdfast");
    await scene.data(["init", "--store", `${kind}:${join(home, kind === "sqlite" ? "holdfast.db" : "store")}`]);
    const place = join(scene.dir, "rows.db");
    const database = `sqlite:${place}`;
    const write = async (value: number): Promise<void> => {
      await using holdfast = await openHoldfast({ root: scene.root, owner: "agent:a", heart: "loop" });
      using dal = await openDal({ holdfast, database });
      await using lease = await holdfast.acquire("table:rows");
      await dal.write(lease, "table:rows", (sql) => {
        sql.rows("create table if not exists rows (value)");
        sql.rows("insert into rows values (?)", [value]);
      });
    };
    await write(1);
    cpSync(home, `${home}-copy`, { recursive: true });
    openRaw(place).exec(`update holdfast_fences set fencing_token = fencing_token + ${HOUR}`);
    rmSync(home, { recursive: true });
    renameSync(`${home}-copy`, home);

    await expect(write(2)).rejects.toMatchObject({ code: "E_FENCING_MISMATCH" });
    const { raised } = await scene.data([...afterRestore, "--database", database]);
    expect(raised).toMatchObject([{ tree: "table:rows", where: database }]);
    await write(3);
    expect(openRaw(place).prepare("select value from rows order by value").all()).toMatchObject([
      { value: 1 },
      { value: 3 },
    ]);
    const missing = await scene.json([...afterRestore, "--database", "sqlite:/none/such.db"]);
    expect(missing.error).toMatchObject({ code: "E_NOT_FOUND" });
  });
});
