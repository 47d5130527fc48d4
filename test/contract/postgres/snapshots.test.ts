/** Snapshots whose locks are kept in PostgreSQL: what is committed is on record there, in the same step. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { commitTold } from "../../../src/features/worktree/worktree-lock.js";
import { type Holdfast, openHoldfast } from "../../../src/index.js";
import { openWorktrees } from "../../../src/worktree.js";
import { sharedServer, type TestServer } from "../../fixtures/postgres/server.fixture.js";
import { dropPostgresStore, newPostgresStore } from "../../fixtures/postgres/stores.fixture.js";

let server: TestServer;
let store: string;
let root: string;
const open: Holdfast[] = [];
beforeAll(async () => {
  server = await sharedServer();
  store = await newPostgresStore(server);
}, 240_000);
afterAll(() => dropPostgresStore(server, store));
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "holdfast-pg-tree-"));
  mkdirSync(join(root, "payload"));
  writeFileSync(join(root, "payload/a"), "one");
});
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
  rmSync(root, { recursive: true, force: true });
});

async function client(owner: string) {
  const holdfast = await openHoldfast({ store, owner, heart: "loop" });
  open.push(holdfast);
  return { holdfast, worktrees: await openWorktrees(holdfast, { root, threads: 0 }) };
}

// kills: postgres-told-commit
it("AUDIT-1 TREE-5: a snapshot and a restore in place are on record, each once", async () => {
  const { holdfast, worktrees } = await client("agent:one");
  await worktrees.trees.add("told", { path: "payload" });
  const { snapshot_id: id, fencing_token: token } = await worktrees.take("told");
  writeFileSync(join(root, "payload/a"), "two");
  const { rescue_id: rescue } = await worktrees.restore.inPlace(id, "told");
  expect(readFileSync(join(root, "payload/a"), "utf8")).toBe("one");
  const snapshots = await holdfast.audit.list({ resource: "worktree:told", event: "snapshot" });
  expect(snapshots.map(({ details }) => details.snapshot_id)).toEqual([id, rescue]);
  expect(snapshots[0]).toMatchObject({ owner: "agent:one", fencing_token: token, details: { kind: "snapshot" } });
  const restores = await holdfast.audit.list({ resource: "worktree:told/restore", event: "restore" });
  expect(restores.map(({ details }) => details)).toMatchObject([{ snapshot_id: id, rescue_id: rescue }]);
  expect(await holdfast.audit.verify()).toMatchObject({ ok: true });
});

it("FENCE-2 TREE-3: whoever was overtaken, or whose write fails, leaves nothing on record", async () => {
  const { holdfast } = await client("agent:one");
  const { holdfast: admin } = await client("user:ann");
  const lease = await holdfast.acquire("worktree:stale", { ttl: "1h" });
  const lent = await admin.borrow("worktree:stale", lease.token);
  const failure = new Error("disk full");
  const failing = (): never => {
    throw failure;
  };
  await expect(commitTold(lease, failing, "snapshot", {})).rejects.toBe(failure);
  await admin.break("worktree:stale", { reason: "test" });
  const write = vi.fn();
  await expect(commitTold(lent, write, "snapshot", {})).rejects.toMatchObject({ code: "E_LOCK_NOT_HELD" });
  expect(write).not.toHaveBeenCalled();
  expect(await holdfast.audit.list({ resource: "worktree:stale", event: "snapshot" })).toEqual([]);
});
