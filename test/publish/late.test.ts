/**
 * FENCE-5 on a server: a publisher in a process of its own is stopped between its check and its rename, and its connection
 * is cut. The server rolls back, and somebody else gets the lock. What keeps the late one out is beside the target.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Holdfast, openHoldfast } from "../../src/index.js";
import { listManifests, publish, verifyManifests } from "../../src/publish/index.js";
import { enterAll, openGuard } from "../../src/support/guard.js";
import { administer, sharedServer } from "../postgres/server.js";
import { newPostgresStore } from "../postgres/stores.js";
import { debrisAt } from "./world.js";

const LATE = fileURLToPath(new URL("../fixtures/late-publisher.mjs", import.meta.url));
const OUTCOME = { timeout: 120_000, interval: 20 };

/** Whoever settles removes what was left in its own time: here, when it is told to. */
const removing = vi.hoisted(() => ({ mayBegin: Promise.resolve(), begin: (): void => undefined }));
vi.mock("../../src/support/remove-tree.js", async (importActual) => {
  const actual = await importActual<typeof import("../../src/support/remove-tree.js")>();
  return {
    async removeTree(path: string) {
      await removing.mayBegin;
      await actual.removeTree(path);
    },
  };
});

let dir: string;
let target: string;
let store: string;
let child: ChildProcess | null;
const open: Holdfast[] = [];

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "holdfast-late-"));
  mkdirSync(join(dir, "place"));
  target = join(dir, "place", "out");
  store = await newPostgresStore(await sharedServer());
});
afterEach(async () => {
  child?.kill("SIGKILL");
  removing.begin();
  for (const each of open.splice(0)) await each.close();
  rmSync(dir, { recursive: true, force: true });
});

async function client(): Promise<Holdfast> {
  const holdfast = await openHoldfast({ store, owner: "admin:new", heart: "loop", wait: 0 });
  open.push(holdfast);
  return holdfast;
}

const page = (text: string) => (stage: { write(name: string, content: string): Promise<void> }) =>
  stage.write("version", text);
const versionAt = (): string => readFileSync(join(target, "version"), "utf8");

interface Late {
  /** How it ended, once it was let go on. */
  goOn(): Promise<{ ok: boolean; code?: string; message?: string }>;
}

/** It has passed its check and stands before the rename, stopped; its connection is cut and its lease has run out. */
async function publisherStoppedBeforeTheRename(): Promise<Late> {
  child = spawn(process.execPath, [LATE, store, target], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout ?? process.stdin })[Symbol.asyncIterator]();
  expect((await lines.next()).value).toBe("staged");
  const guard = openGuard(join(dir, "place", ".holdfast-fence", "guard"));
  await enterAll([guard], "the target");
  child.stdin?.write("go on\n");
  const isThere = "state = 'idle in transaction' and query like '%manifest_check%' and datname = current_database()";
  await vi.waitFor(async () => {
    expect(await administer(store, `select 1 from pg_stat_activity where ${isThere}`)).toHaveLength(1);
  }, OUTCOME);
  const { pid = 0 } = child;
  process.kill(pid, "SIGSTOP");
  await administer(store, `select pg_terminate_backend(pid, 60000) from pg_stat_activity where ${isThere}`);
  await administer(store, "update holdfast.grants set renewed_ms = renewed_ms - 2 * lease_ms");
  guard.leave();
  guard.close();
  return {
    async goOn() {
      process.kill(pid, "SIGCONT");
      return JSON.parse((await lines.next()).value as string);
    },
  };
}

describe("FENCE-5: a publisher that comes late to its rename", () => {
  it("publishes nothing while somebody else has the lock, though that one has published nothing yet", async () => {
    const ours = await client();
    await publish({ holdfast: ours, key: "site" }, target, page("old"));
    const late = await publisherStoppedBeforeTheRename();
    removing.mayBegin = new Promise((resolve) => {
      removing.begin = resolve;
    });
    const lease = await ours.acquire("site", { ttl: "1h" });
    expect((await listManifests(ours)).map(({ state }) => state)).toEqual(["committed", "aborted"]);
    expect(await late.goOn()).toMatchObject({ ok: false, code: "E_FENCING_MISMATCH" });
    expect(versionAt()).toBe("old");
    removing.begin();
    expect(await verifyManifests(ours)).toMatchObject({ ok: true });
    await lease.release();
    await ours.close();
    expect(debrisAt(target)).toEqual([]);
  });

  it("overwrites nothing that a later one has published, also when the server has forgotten that it was ever there", async () => {
    const late = await publisherStoppedBeforeTheRename();
    await administer(
      store,
      "delete from holdfast.manifests",
      "delete from holdfast.grants",
      "update holdfast.trees set publishing = 0",
    );
    const ours = await client();
    await publish({ holdfast: ours, key: "site" }, target, page("newer"));
    expect(await late.goOn()).toMatchObject({ ok: false, code: expect.stringMatching(/^E_(FENCING|LOCK|STORE)_/) });
    expect(versionAt()).toBe("newer");
    expect(await verifyManifests(ours)).toMatchObject({ ok: true, targets: 1 });
    expect(debrisAt(target)).toEqual([]);
  });

  it("whose lease nobody has taken has published when the server answers again, or says that it does not know", async () => {
    const late = await publisherStoppedBeforeTheRename();
    await administer(store, "update holdfast.grants set renewed_ms = renewed_ms + 2 * lease_ms");
    const told = await late.goOn();
    const ours = await client();
    await administer(store, "update holdfast.grants set renewed_ms = renewed_ms - 2 * lease_ms");
    await ours.acquire("site");
    const [manifest] = await listManifests(ours);
    // It may have stood still for too long to dare.
    if (told.ok || told.code === "E_COMMIT_UNCERTAIN")
      expect([versionAt(), manifest?.state]).toEqual(["late", "committed"]);
    else expect([existsSync(target), manifest?.state, told.code]).toEqual([false, "aborted", "E_STORE_UNAVAILABLE"]);
    expect(await ours.audit.list({ event: "published" })).toHaveLength(manifest?.state === "committed" ? 1 : 0);
  });
});
