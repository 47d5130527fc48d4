/** AUDIT-4 and RUN-2 as commands. */
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ended, type Json, linesOf, openScene, type Scene } from "../../fixtures/command.fixture.js";

let scene: Scene;
beforeAll(async () => {
  scene = await openScene();
});
afterAll(() => scene.close());

const ENTRY = [
  "seq",
  "at",
  "event",
  "resource",
  "owner",
  "holder_id",
  "fencing_token",
  "lock_id",
  "details",
  "prev_hash",
  "hash",
];

describe("AUDIT-4: the record", () => {
  beforeAll(async () => {
    await scene.data(["lock", "acquire", "log:a/x", "--owner", "agent:one"]);
    await scene.data(["lock", "acquire", "log:b", "--owner", "agent:two"]);
    await scene.data(["lock", "release", "log:a/x", "--owner", "agent:one"]);
  });

  const told = async (...words: string[]): Promise<string[]> =>
    (await scene.data(["audit", ...words])).entries.map((entry: Json) => `${entry.event} ${entry.resource}`);

  it("is listed, filtered by prefix, owner, event and time, and paged", async () => {
    const all = await scene.data(["audit", "list", "--prefix", "log:a"]);
    expect(Object.keys(all)).toEqual(["entries", "next"]);
    expect(Object.keys(all.entries[0])).toEqual(ENTRY);
    const [prefix, owner, event, since, until, page, rest] = await Promise.all([
      told("list", "--prefix", "log:a"),
      told("list", "--owner", "agent:two"),
      told("list", "--event", "released"),
      told("list", "--since", all.entries[1].at, "--prefix", "log:a"),
      told("list", "--until", "2020-01-01T00:00:00Z"),
      scene.data(["audit", "list", "--limit", "2"]),
      scene.data(["audit", "list", "--limit", "2", "--after", "2"]),
    ]);
    expect(prefix).toEqual(["granted log:a/x", "released log:a/x"]);
    expect(owner).toEqual(["granted log:b"]);
    expect(event).toEqual(["released log:a/x"]);
    expect(since).toEqual(["released log:a/x"]);
    expect(until).toEqual([]);
    expect([page.next, rest.next, rest.entries.length]).toEqual([2, null, 1]);
    expect((await scene.run(["audit", "list", "--limit", "2"])).stderr).toBe("more: the same with --after 2\n");
    const odd = await scene.json(["audit", "list", "--event", "eaten"]);
    expect([odd.exit, odd.error.details.field]).toEqual([64, "event"]);
  });

  it("comes as JSON lines, and as its end", async () => {
    const [lines, tail] = await Promise.all([scene.run(["audit", "list", "--lines"]), told("tail", "--limit", "1")]);
    const entries = lines.stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(entries.map((entry) => entry.event)).toEqual(["granted", "granted", "released"]);
    expect(tail).toEqual(["released log:a/x"]);
  });

  it("is followed as it grows, each entry once", async () => {
    const child = scene.start(["audit", "tail", "--follow", "--limit", "1", "--prefix", "log:a", "--json"]);
    const lines = linesOf(child);
    const next = async (): Promise<Json> => JSON.parse((await lines.next()).value ?? "");
    expect(await next()).toMatchObject({ event: "released", resource: "log:a/x" });
    await scene.data(["lock", "acquire", "log:a/y"]);
    expect(await next()).toMatchObject({ event: "granted", resource: "log:a/y" });
    const end = ended(child);
    child.kill("SIGINT");
    expect((await end).exit).toBe(0);
  });

  it("AUDIT-2: is verified; exit code 65 names the first bad entry", async () => {
    expect(await scene.data(["audit", "verify"])).toMatchObject({ ok: true, chains: 2, bad: [] });
    const { DatabaseSync } = createRequire(import.meta.url)("@photostructure/sqlite");
    const database = new DatabaseSync(join(scene.root, ".holdfast", "holdfast.db"));
    database.exec("UPDATE trees SET tail = replace(tail, 'agent:two', 'agent:too') WHERE tree = 'log:b'");
    database.close();
    const bad = await scene.json(["audit", "verify"]);
    expect([bad.exit, bad.error.code]).toEqual([65, "E_STORE_CORRUPT"]);
    expect(bad.error.details).toMatchObject({ ok: false, bad: [{ tree: "log:b", seq: 1 }] });
  });
});

describe("RUN-2: leases by name", () => {
  it("acquire, renew, release and status, by token", async () => {
    const one = ["--owner", "agent:one"];
    const first = await scene.run(["lease", "acquire", "gates", "--ttl", "10m", ...one]);
    const token = first.stdout.trim();
    expect(token).toMatch(/^hf_\S+$/);
    const status = await scene.data(["lease", "status", "gates"]);
    expect(Object.keys(status.lease)).toEqual([
      "name",
      "resource",
      "state",
      "holder",
      "fencing_token",
      "created_at",
      "last_renewed_at",
      "lease_expires_at",
      "lease_duration_s",
    ]);
    expect(status.lease).toMatchObject({ resource: "runtime:gates", state: "held", holder: "agent:one" });
    const other = await scene.json(["lease", "acquire", "gates", "--owner", "agent:two"]);
    expect([other.exit, other.error.details.contention.owner]).toEqual([75, "agent:one"]);

    const again = await scene.data(["lease", "acquire", "gates", "--ttl", "5m", ...one]);
    expect(again.lease).toMatchObject({ name: "gates", holder: "agent:one", lease_duration_s: 300 });
    expect(again.lease.fencing_token).toBeGreaterThan(status.lease.fencing_token);
    const env = { HOLDFAST_LEASE_TOKEN: again.lease.token };
    const [old, wrong, renewed, none] = await Promise.all([
      scene.json(["lease", "renew", "gates", "--token", token, ...one]),
      scene.data(["lease", "release", "gates", "--token", token, ...one]),
      scene.data(["lease", "renew", "gates", "--ttl", "20m", ...one], { env }),
      scene.json(["lease", "release", "gates", ...one]),
    ]);
    expect([old.exit, wrong, renewed.lease.lease_duration_s, none.exit]).toEqual([
      81,
      { name: "gates", released: false },
      1200,
      64,
    ]);
    expect(await scene.data(["lease", "release", "gates", ...one], { env })).toEqual({ name: "gates", released: true });
    expect(await scene.data(["lease", "release", "gates", ...one], { env })).toEqual({
      name: "gates",
      released: false,
    });
  });
});

describe("start-up", () => {
  it("lock status on SQLite loads the bundle and the two drivers it needs, and nothing else", async () => {
    const preload = join(scene.dir, "loaded.cjs");
    writeFileSync(
      preload,
      `process.on("exit", () => process.stderr.write("LOADED" + JSON.stringify(Object.keys(require("node:module")._cache))));`,
    );
    const { exit, stderr } = await scene.run(["lock", "status", "a", "--json"], { preload });
    const loaded = (JSON.parse(stderr.split("LOADED")[1] ?? "[]") as string[]).filter((path) => path !== preload);
    const packages = new Set(loaded.map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? "ours"));
    expect([exit, [...packages].sort()]).toEqual([
      0,
      ["@photostructure/sqlite", "fs-native-extensions", "node-gyp-build", "ours"],
    ]);
    expect(loaded.length).toBeLessThanOrEqual(8);
  });
});
