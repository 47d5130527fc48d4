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
import { enterAll, openGuard } from "../../../src/files/guard.js";
import { type Holdfast, openHoldfast } from "../../../src/index.js";
import { listManifests, publish, verifyManifests } from "../../../src/publish.js";
import { administer, sharedServer } from "../../fixtures/postgres/server.fixture.js";
import { newPostgresStore } from "../../fixtures/postgres/stores.fixture.js";
import { debrisAt } from "../../fixtures/publish/publish.fixture.js";
import { stateOf } from "../../fixtures/run/run.fixture.js";

const LATE = fileURLToPath(new URL("./late-publisher.fixture.mjs", import.meta.url));
const OUTCOME = { timeout: 120_000, interval: 20 };

/** Whoever settles removes what was left in its own time: here, when it is told to. */
const removing = vi.hoisted(() => ({ mayBegin: Promise.resolve(), begin: (): void => undefined }));
vi.mock("../../../src/files/remove-tree.js", async (importActual) => {
  const actual = await importActual<typeof import("../../../src/files/remove-tree.js")>();
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

interface Told {
  readonly ok: boolean;
  readonly code?: string;
}

interface Late {
  /** How it ended, once it was let go on. */
  goOn(): Promise<Told>;
}

/** Waits before its rename, inside the transaction of its check. */
const ITS_BACKEND = "state = 'idle in transaction' and query like '%manifest_check%' and datname = current_database()";

async function isBeforeTheRename(): Promise<boolean> {
  return (await administer(store, `select 1 from pg_stat_activity where ${ITS_BACKEND}`)).length === 1;
}

/** It has passed its check and stands before the rename, stopped; its connection is cut and its lease has run out. */
async function publisherStoppedBeforeTheRename(): Promise<Late> {
  for (;;) {
    const late = await tryToStop();
    if (late !== null) return late;
  }
}

/** Null when it was not caught there: on a busy machine it may have given up waiting for the kernel lock before. */
async function tryToStop(): Promise<Late | null> {
  const publisher = spawn(process.execPath, [LATE, store, target], { stdio: ["pipe", "pipe", "inherit"] });
  child = publisher;
  const { pid = 0, stdin, stdout } = publisher;
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
  expect((await lines.next()).value).toBe("staged");
  const guard = openGuard(join(dir, "place", ".holdfast-fence", "guard"));
  await enterAll([guard], "the target");
  let isOver = false;
  const told = lines.next().then(({ value }) => {
    isOver = true;
    return JSON.parse(value as string) as Told;
  });
  stdin.write("go on\n");
  while (!isOver && !(await isBeforeTheRename()));
  process.kill(pid, "SIGSTOP");
  await vi.waitUntil(() => isOver || ["T", ""].includes(stateOf(pid)), OUTCOME);
  const isCaught = !isOver && (await isBeforeTheRename());
  if (isCaught) {
    await administer(store, `select pg_terminate_backend(pid, 60000) from pg_stat_activity where ${ITS_BACKEND}`);
    await administer(store, "update holdfast.grants set renewed_ms = renewed_ms - 2 * lease_ms");
  } else process.kill(pid, "SIGCONT");
  guard.leave();
  guard.close();
  if (!isCaught) await told;
  return isCaught
    ? {
        goOn() {
          process.kill(pid, "SIGCONT");
          return told;
        },
      }
    : null;
}

describe("FENCE-5: a publisher that comes late to its rename", () => {
  // kills: publish-server-settle, publish-late-stage
  it("publishes nothing while somebody else has the lock, though that one has published nothing yet", async () => {
    const ours = await client();
    await publish({ holdfast: ours, key: "site" }, target, page("old"));
    const late = await publisherStoppedBeforeTheRename();
    removing.mayBegin = new Promise((resolve) => {
      removing.begin = resolve;
    });
    const lease = await ours.acquire("site", { ttl: "1h" });
    const [first, ...others] = (await listManifests(ours)).map(({ state }) => state);
    expect([first, [...new Set(others)]]).toEqual(["committed", ["aborted"]]);
    expect(await late.goOn()).toMatchObject({ ok: false, code: "E_FENCING_MISMATCH" });
    expect(versionAt()).toBe("old");
    removing.begin();
    expect(await verifyManifests(ours)).toMatchObject({ ok: true });
    await lease.release();
    await ours.close();
    expect(debrisAt(target)).toEqual([]);
  });

  // kills: publish-late-mark, publish-late-raise
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

  // kills: publish-late-mark, publish-late-raise
  it("overwrites nothing of somebody whose locks are in another database", async () => {
    const late = await publisherStoppedBeforeTheRename();
    store = await newPostgresStore(await sharedServer());
    const ours = await client();
    await publish({ holdfast: ours, key: "site" }, target, page("elsewhere"));
    expect(await late.goOn()).toMatchObject({ ok: false, code: expect.stringMatching(/^E_(FENCING|LOCK|STORE)_/) });
    expect(versionAt()).toBe("elsewhere");
  });

  it("whose lease nobody has taken has published when the server answers again, or says that it does not know", async () => {
    const late = await publisherStoppedBeforeTheRename();
    await administer(store, "update holdfast.grants set renewed_ms = renewed_ms + 2 * lease_ms");
    const told = await late.goOn();
    const ours = await client();
    await administer(store, "update holdfast.grants set renewed_ms = renewed_ms - 2 * lease_ms");
    await ours.acquire("site");
    const manifest = (await listManifests(ours)).at(-1);
    // It may have stood still for too long to dare.
    if (told.ok || told.code === "E_COMMIT_UNCERTAIN")
      expect([versionAt(), manifest?.state]).toEqual(["late", "committed"]);
    else expect([existsSync(target), manifest?.state, told.code]).toEqual([false, "aborted", "E_STORE_UNAVAILABLE"]);
    expect(await ours.audit.list({ event: "published" })).toHaveLength(manifest?.state === "committed" ? 1 : 0);
  });
});
