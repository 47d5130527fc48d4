/** DASH-1: what the page is told. */
import { mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { openBoard } from "../../../src/features/board/board.js";
import { openHoldfast } from "../../../src/index.js";
import { openJobs } from "../../../src/jobs.js";
import { openWorktrees } from "../../../src/worktree.js";
import { Scene } from "../../fixtures/dash/dash.fixture.js";
import { sharedServer } from "../../fixtures/postgres/server.fixture.js";
import { newPostgresStore } from "../../fixtures/postgres/stores.fixture.js";

const STORES = {
  sqlite: () => "sqlite",
  file: () => "file",
  postgres: async () => newPostgresStore(await sharedServer()),
};

describe.each(Object.entries(STORES))("DASH-1: locks, on %s", (_, newStore) => {
  it("with holder, countdown and line, and who waits for whom", async () => {
    await using scene = await (await Scene.open({ store: await newStore() })).enter();
    const { holdfast } = scene;
    await using held = await holdfast.acquire("site/pages", { ttl: "30s", metadata: { why: "deploy" } });
    await using _other = await holdfast.acquire("docs", { mode: "read" });
    await using waiter = await openHoldfast({ store: holdfast.storeUrl, owner: "agent:b" });
    const waiting = waiter.acquire("site", { wait: "30s" });
    await expect.poll(async () => (await scene.look("waits")).waiters.length).toBe(1);

    const { locks, matching, read, is_all, waiting: inLine } = await scene.look("locks");
    expect(locks).toMatchObject([
      { resource: "docs", mode: "read", state: "held", waiting: 0 },
      {
        resource: "site/pages",
        mode: "write",
        owner: "user:ann",
        state: "held",
        waiting: 1,
        metadata: { why: "deploy" },
      },
    ]);
    expect({ matching, read, is_all, inLine }).toEqual({ matching: 2, read: 2, is_all: true, inLine: 1 });
    expect((await scene.look("locks?sort=waiting")).locks[0].resource).toBe("site/pages");
    expect((await scene.look("locks?sort=expires")).locks[0].resource).toBe("site/pages");
    expect((await scene.look("locks?text=DOC")).locks).toHaveLength(1);
    expect((await scene.look("locks?text=nobody")).locks).toEqual([]);

    const { line, holders, entries } = await scene.look("lock?key=site");
    expect(holders).toMatchObject([{ resource: "site/pages", relation: "below", state: "held" }]);
    expect(line).toMatchObject([{ owner: "agent:b", waits_for: [{ kind: "holder", owner: "user:ann" }] }]);
    expect(entries).toMatchObject([{ event: "granted", resource: "site/pages" }]);
    const { holders: blocking, waiters } = await scene.look("waits");
    expect(blocking).toMatchObject([{ resource: "site/pages", owner: "user:ann", state: "held" }]);
    expect(waiters).toMatchObject([{ owner: "agent:b", position: 1, waits_for: [{ resource: "site/pages" }] }]);

    await held.release();
    await (await waiting).release();
    expect(scene.errors).toEqual([]);
  });
});

describe("DASH-1: what else there is to see", () => {
  it("a lock is not over because the clock was set, on any tab", async () => {
    await using scene = await (await Scene.open()).enter();
    const { holdfast } = scene;
    await using _lease = await holdfast.acquire("a", { ttl: "10m" });
    await using waiter = await openHoldfast({ store: holdfast.storeUrl, owner: "agent:b" });
    const stop = new AbortController();
    const waiting = waiter.acquire("a", { wait: "30s", signal: stop.signal }).catch(() => null);
    await expect.poll(async () => (await scene.look("waits")).waiters.length).toBe(1);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3_600_000 });
    try {
      await sleep(450); // The answers before this are good for a moment.
      const { now, locks } = await scene.look("locks");
      expect(locks).toMatchObject([{ state: "held" }]);
      expect(Math.abs(Date.parse(locks[0].lease_expires_at) - Date.parse(now) - 600_000)).toBeLessThan(30_000);
      expect((await scene.look("lock?key=a")).holders).toMatchObject([{ state: "held" }]);
      expect((await scene.look("waits")).holders).toMatchObject([{ state: "held" }]);
      expect((await scene.look("timeline?minutes=120")).rows[0].spans).toMatchObject([{ to: null, ended: null }]);
    } finally {
      vi.useRealTimers();
    }
    stop.abort();
    await waiting;
  });

  it("a page of many locks at a time", async () => {
    await using scene = await (await Scene.open()).enter();
    for (let tens = 0; tens < 25; tens += 1)
      await scene.holdfast.acquire(Array.from({ length: 10 }, (_, at) => `many/${tens * 10 + at}`));
    const last = await scene.look("locks?page=3");
    expect(last).toMatchObject({ matching: 250, page: 3, pages: 3, expired: 0 });
    expect(last.locks).toHaveLength(50);
    expect((await scene.look("locks?page=99")).page).toBe(3);
    for (const bad of ["page=0", "page=x", "sort=size"])
      expect((await scene.ask(`/api/locks?${bad}`)).status).toBe(400);
    expect((await scene.ask("/api/lock")).status).toBe(400);
    expect(JSON.parse((await scene.ask("/api/locks?page=0")).text).error.next).toEqual([]);
    expect((await scene.ask("/api/lock?key=%00")).status).toBe(400);
  });

  it("what happened, as it happens, and found again", async () => {
    await using scene = await (await Scene.open()).enter();
    const { holdfast } = scene;
    await (await holdfast.acquire("old", { metadata: {} })).release();
    expect((await scene.look("audit")).entries).toMatchObject([{ event: "released" }, { event: "granted" }]);
    await (await holdfast.acquire("new/one")).release();
    await expect.poll(async () => (await scene.look("audit")).entries.length, { timeout: 5_000 }).toBe(4);
    expect((await scene.look("audit")).entries[0]).toMatchObject({ event: "released", resource: "new/one" });
    expect((await scene.look("audit?text=NEW/")).entries).toHaveLength(2);
    expect((await scene.look("audit?event=granted&resource=new")).entries).toHaveLength(1);
    expect((await scene.look("audit?owner=agent:none")).entries).toEqual([]);
    expect(await scene.look("audit?limit=3")).toMatchObject({ has_more: true, entries: { length: 3 } });
    expect((await scene.look("audit?since=2999-01-01T00:00:00Z")).entries).toEqual([]);
    for (const bad of ["event=eaten", "since=tomorrow", "limit=0"])
      expect((await scene.ask(`/api/audit?${bad}`)).status).toBe(400);
  });

  it("who held what in the last minutes, and how it ended", async () => {
    await using scene = await (await Scene.open({ allowsActions: true })).enter();
    const { holdfast } = scene;
    await (await holdfast.acquire("a")).release();
    await holdfast.acquire("a");
    await holdfast.break("a", { reason: "it hangs" });
    await using _still = await holdfast.acquire("a");
    await using _lone = await holdfast.acquire("b", { mode: "read" });
    const { rows, more, is_all } = await scene.look("timeline?minutes=5");
    expect(rows.map(({ resource }: { resource: string }) => resource)).toEqual(["a", "b"]);
    expect(rows[0].spans).toMatchObject([
      { owner: "user:ann", mode: "write", ended: "released" },
      { ended: "broken" },
      { to: null, ended: null },
    ]);
    expect(rows[1].spans).toMatchObject([{ mode: "read", to: null }]);
    expect({ more, is_all }).toEqual({ more: 0, is_all: true });
    expect((await scene.look("timeline?text=b")).rows).toHaveLength(1);
  });

  it("jobs, newest first, in lanes", async () => {
    await using scene = await (await Scene.open({ allowsActions: true })).enter();
    const jobs = openJobs(scene.holdfast);
    const [one, two] = [await jobs.enqueue("k", 1, { project: "p" }), await jobs.enqueue("k", 2, { project: "q" })];
    const seen = await scene.look("jobs");
    expect(seen.lanes.lanes).toMatchObject([
      { project: "p", ready: 1 },
      { project: "q", ready: 1 },
    ]);
    expect(seen.jobs).toMatchObject([{ id: two.id }, { id: one.id }]);
    expect((await scene.look("jobs?project=p")).jobs).toMatchObject([{ id: one.id }]);
    expect((await scene.look(`jobs?after=${two.id}`)).jobs).toMatchObject([{ id: one.id }]);
    expect(JSON.parse((await scene.act("job-cancel", { id: one.id })).text).done).toBe(`Cancelled job ${one.id}.`);
    expect((await scene.look("jobs?state=cancelled")).jobs).toMatchObject([{ id: one.id }]);
    expect(JSON.parse((await scene.act("job-retry", { id: one.id })).text).done).toBe(
      `Job ${one.id} will be tried again.`,
    );
    expect((await scene.act("job-cancel", { id: "1" })).status).toBe(400);
    expect((await scene.act("job-cancel", { id: 999 })).status).toBe(404);
  });

  it("the board and the snapshots of the workspace", async () => {
    await using scene = await (await Scene.open()).enter();
    expect(await scene.look("about")).toMatchObject({
      version: "1.2.3",
      root: scene.root,
      allows_actions: false,
      has: { jobs: true, board: true, snapshots: true },
    });
    expect((await scene.look("board")).columns).toHaveLength(6);
    expect(await scene.look("snapshots")).toMatchObject({ worktrees: [], snapshots: [], total: 0 });
    const board = openBoard(scene.holdfast, join(scene.root, ".holdfast", "board"));
    await board.add({ title: "Paint the fence", labels: ["garden"] });
    const worktrees = await openWorktrees(scene.holdfast, { root: scene.root });
    mkdirSync(join(scene.root, "tree"));
    await worktrees.trees.add("main", { path: join(scene.root, "tree") });
    for (const note of ["first", "second"]) await worktrees.take("main", { note });
    await sleep(500); // The answer before this is good for a moment.
    const { columns } = await scene.look("board?text=fence");
    expect(columns.find(({ state }: { state: string }) => state === "ready")).toMatchObject({
      total: 1,
      issues: [{ title: "Paint the fence", labels: ["garden"] }],
    });
    const { snapshots, worktrees: trees, total } = await scene.look("snapshots");
    expect(snapshots).toMatchObject([{ note: "second" }, { note: "first" }]);
    expect(trees).toMatchObject([{ worktree_id: "main", head: snapshots[0].snapshot_id }]);
    expect(total).toBe(2);
  });

  it("a store without jobs says so", async () => {
    await using scene = await (await Scene.open({ store: "file" })).enter();
    expect((await scene.look("about")).has.jobs).toBe(false);
    expect(JSON.parse((await scene.ask("/api/jobs")).text).error.code).toBe("E_CONFIG");
  });

  it.each(["sqlite", "file"])("a store of %s that is gone is told on every tab, not shown as empty", async (store) => {
    await using scene = await (await Scene.open({ store })).enter();
    await scene.holdfast.acquire("a", { ttl: "10m" });
    const tabs = ["locks", "lock?key=a", "waits", "timeline", "audit", "board", "snapshots"];
    if (store === "sqlite") tabs.push("jobs");
    const home = join(scene.root, ".holdfast");
    renameSync(home, `${home}-elsewhere`);
    for (const tab of tabs) {
      const { status, text } = await scene.ask(`/api/${tab}`);
      expect([tab, status, JSON.parse(text).error?.code]).toEqual([tab, 503, "E_STORE_UNAVAILABLE"]);
    }
    rmSync(home, { recursive: true, force: true });
    renameSync(`${home}-elsewhere`, home);
    for (const tab of tabs) expect((await scene.ask(`/api/${tab}`)).status).toBe(200);
    expect(scene.errors).toEqual([]);
  });

  it("a lease that is over is not counted as held", async () => {
    await using scene = await (await Scene.open()).enter();
    await scene.holdfast.acquire("over", { ttl: "1s", detached: true });
    await scene.holdfast.acquire("held", { ttl: "10m" });
    await expect.poll(async () => (await scene.look("locks")).expired).toBe(1);
    expect(await scene.look("locks")).toMatchObject({ read: 2, matching: 2, expired: 1 });
  });

  it("a database that was replaced is told, also where its jobs are", async () => {
    await using scene = await (await Scene.open()).enter();
    await openJobs(scene.holdfast).enqueue("k", 1, { project: "p" });
    const path = join(scene.root, ".holdfast", "holdfast.db");
    renameSync(path, `${path}-old`);
    await (await openHoldfast({ store: `sqlite:${path}` })).close();
    await sleep(60); // It is not looked at more often.
    for (const tab of ["locks", "jobs"]) expect([tab, (await scene.ask(`/api/${tab}`)).status]).toEqual([tab, 503]);
  });
});
