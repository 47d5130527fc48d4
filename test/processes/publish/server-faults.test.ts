/** What only a server can do to a publish: lose an answer, be away for a while, serve another machine. */
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { kernelOf } from "../../../src/client/kernel.js";
import { createRuntimeLeases } from "../../../src/features/runtime/named-leases.js";
import { enterAll, openGuard } from "../../../src/files/guard.js";
import { type Holdfast, type Lease, openHoldfast } from "../../../src/index.js";
import { openJobs } from "../../../src/jobs.js";
import {
  findUnfinished,
  listManifests,
  publish,
  type Stage,
  settleUnfinished,
  verifyManifests,
} from "../../../src/publish.js";
import { openCommitWire } from "../../fixtures/postgres/commit-wire.fixture.js";
import { administer, databaseOf, sharedServer } from "../../fixtures/postgres/server.fixture.js";
import { newPostgresStore } from "../../fixtures/postgres/stores.fixture.js";
import { debrisAt } from "../../fixtures/publish/publish.fixture.js";
import { outlive } from "../../fixtures/publish/server-statements.fixture.js";
import { comesOff } from "../../fixtures/succeeds-once.fixture.js";

const isForeign = process.env.HOLDFAST_TEST_POSTGRES_URL !== undefined;
const page =
  (text: string) =>
  (stage: Stage): Promise<void> =>
    stage.write("version", text);
const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "done",
    (error: { code?: string }) => error.code ?? String(error),
  );

let dir: string;
let target: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "holdfast-server-"));
  mkdirSync(join(dir, "place"));
  target = join(dir, "place", "out");
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

async function client(store: string, owner = "agent:a"): Promise<Holdfast> {
  const holdfast = await openHoldfast({ store, owner, heart: "loop", wait: 0 });
  onTestFinished(() => holdfast.close());
  return holdfast;
}

const versionAt = (): string => readFileSync(join(target, "version"), "utf8");
const states = async (holdfast: Holdfast): Promise<string[]> =>
  (await listManifests(holdfast)).map(({ state }) => state);

/** One publish is under way, past its seal, and never goes on. */
function sealUnder(lease: Lease): Promise<void> {
  const never = new Promise<never>(() => undefined);
  return new Promise((resolve) => {
    void publish(lease, target, page("new"), {
      beforeCommit: () => {
        resolve();
        return never;
      },
    });
  });
}

/** The same; then its holder's lease has run out. */
async function leaveSealed(store: string, key = "site"): Promise<void> {
  await sealUnder(await (await client(store, "agent:doomed")).acquire(key));
  await outlive(store, 240 * 3_600_000);
}

/** What the handler finds is what it was granted the lock with. */
async function startJob(ours: Holdfast): Promise<void> {
  const jobs = openJobs(ours);
  const found = new Promise<string[]>((resolve) => {
    jobs.define("look", {}, async () => resolve(await states(ours)));
  });
  await jobs.enqueue("look", null, { project: "alpha", locks: [{ resource: "site", mode: "write" }] });
  const worker = jobs.work({ poll: 10, concurrency: 1 });
  expect(await found).toEqual(["aborted"]);
  await worker.stop();
}

describe.skipIf(isForeign)("PUB-3: a COMMIT that is lost (needs a PostgreSQL server that the tests start)", () => {
  // kills: publish-lost-commit
  it.each(["request", "answer"] as const)("with its %s: it is published, and on record once", async (what) => {
    const server = await sharedServer();
    const store = await newPostgresStore(server);
    await using wire = await openCommitWire(server.control?.socket ?? "");
    const far = await client(`postgres://postgres@127.0.0.1:${wire.port}/${databaseOf(store)}`);
    await publish({ holdfast: far, key: "site" }, target, page("old"));
    const { manifest } = await publish({ holdfast: far, key: "site" }, target, page("new"), {
      underGuard: () => wire.loseNext(what),
    });
    expect(wire.lost).toBe(1);
    expect([manifest.state, versionAt()]).toEqual(["committed", "new"]);
    const near = await client(store);
    expect(await near.audit.list({ event: "published" })).toHaveLength(2);
    expect(await verifyManifests(near)).toMatchObject({ ok: true, targets: 1 });
    expect(debrisAt(target)).toEqual([]);
  });
});

describe("PUB-2: an answer that is lost", () => {
  it("each call may be sent twice: the second says what the first has done", async () => {
    const store = await newPostgresStore(await sharedServer());
    const ours = await client(store);
    const lease = await ours.acquire("site");
    const { manifests, requester: party } = kernelOf(lease);
    const [grant] = lease.refs;
    if (grant === undefined) throw new Error("it holds something");
    const id = randomUUID();
    const draft = { id, op: "publish", target, tmpPath: join(dir, "place", "tmp", id), pathKey: null };
    const begun = await manifests.begin(grant, party, draft);
    expect(await manifests.begin(grant, party, draft)).toEqual(begun);
    const files = [{ path: "a", size: 1, sha256: "0".repeat(64), mode: 0o100644 }];
    for (const _ of [1, 2]) await manifests.addFiles(grant, begun, files);
    const seal = { identity: "1:1", fileCount: 1, byteCount: 1 };
    const sealed = await manifests.seal(grant, begun, seal, files);
    expect(await manifests.seal(grant, begun, seal, files)).toEqual(sealed);
    expect(await manifests.files(sealed, null, 10)).toEqual(files);
    expect(await administer(store, "select publishing from holdfast.trees where tree = 'site'")).toEqual([
      { publishing: 1 },
    ]);
    const ended = await manifests.settle(begun, party, true);
    expect(await manifests.settle(begun, party, true)).toEqual(ended);
    for (const _ of [1, 2]) await manifests.clear(ended ?? begun);
    expect(await ours.audit.list({ event: "publish_undone" })).toHaveLength(1);
    expect(await administer(store, "select publishing from holdfast.trees where tree = 'site'")).toEqual([
      { publishing: 0 },
    ]);
  });
});

describe("FENCE-5: between the check and the rename", () => {
  it("whoever stands still for so long that the server may have ended the check renames nothing", async () => {
    const ours = await client(await newPostgresStore(await sharedServer()));
    let slept = 0;
    const told = publish({ holdfast: ours, key: "site" }, target, page("new"), {
      beforeCommit: async () => {
        const now = performance.now.bind(performance);
        vi.spyOn(performance, "now").mockImplementation(() => {
          slept += 20_000;
          return now() + slept;
        });
      },
    });
    onTestFinished(() => void vi.restoreAllMocks());
    expect(await codeOf(told)).toBe("E_STORE_UNAVAILABLE");
    expect([existsSync(target), debrisAt(target)]).toEqual([false, []]);
  });
});

describe("PUB-3: an administrator who breaks the lock between check and rename", () => {
  it("waits for the publish, which is whole and on record", async () => {
    const store = await newPostgresStore(await sharedServer());
    const [ours, theirs] = [await client(store), await client(store, "admin:boss")];
    const isSeen = async (what: string): Promise<boolean> =>
      (await administer(store, `select 1 from pg_stat_activity where datname = current_database() and ${what}`))
        .length > 0;
    const guard = openGuard(join(dir, "place", ".holdfast-fence", "guard"));
    onTestFinished(() => guard.close());
    // The publish waits for the kernel lock for a few seconds only: on a machine that is slower it has to be begun again.
    await comesOff(async (time) => {
      const lease = await ours.acquire("site", { ttl: "1h" });
      let isOver = false;
      const publishing = codeOf(
        publish(lease, target, page(`new-${time}`), { beforeCommit: () => enterAll([guard], "the target", 60_000) }),
      ).finally(() => {
        isOver = true;
      });
      while (!isOver && !(await isSeen("state = 'idle in transaction' and query like '%manifest_check%'")));
      const breaking = theirs.break("site", { reason: "out of the way" });
      while (!isOver && !(await isSeen("wait_event_type = 'Lock' and query like '%holdfast.break%'")));
      guard.leave();
      const told = await publishing;
      expect(await breaking).toHaveLength(1);
      if (told !== "done") return false;
      expect(versionAt()).toBe(`new-${time}`);
      return true;
    });
    expect(await verifyManifests(theirs)).toMatchObject({ ok: true, targets: 1 });
    expect(await listManifests(theirs, { state: "pending" })).toEqual([]);
    expect(await theirs.audit.verify()).toMatchObject({ ok: true });
  });
});

/** Waits in line so that a release may give it the lock by itself: for that its client listens, as it does after a first wait. */
async function standInLine(ours: Holdfast, store: string): Promise<{ readonly waiting: Promise<Lease> }> {
  for (;;) {
    const patience = new AbortController();
    const waiting = ours.acquire("site", { wait: "5m", signal: patience.signal });
    waiting.catch(() => undefined);
    const look = "select offer is not null as offered from holdfast.tickets";
    const [ticket] = await vi.waitUntil(
      async () => {
        const tickets = await administer<{ offered: boolean }>(store, look);
        return tickets.length > 0 && tickets;
      },
      { timeout: 120_000, interval: 10 },
    );
    if (ticket?.offered) return { waiting };
    patience.abort();
    await waiting.catch(() => undefined);
  }
}

describe("PUB-3: what a publisher left", () => {
  // kills: publish-elsewhere
  it("on another machine is left to those who see it, and the same path here is another target", async () => {
    const store = await newPostgresStore(await sharedServer());
    await leaveSealed(store);
    await administer(store, "update holdfast.manifests set place = 'far away', machine = 'another'");
    const ours = await client(store);
    const lease = await ours.acquire("site");
    expect(await findUnfinished(ours)).toEqual([]);
    expect(await settleUnfinished(ours)).toEqual([]);
    expect(await verifyManifests(ours)).toMatchObject({ ok: true, targets: 0 });
    await lease.release();
    await publish({ holdfast: ours, key: "another/key" }, target, page("here"));
    expect(await states(ours)).toEqual(["pending", "committed"]);
    expect(await verifyManifests(ours)).toMatchObject({ ok: true, targets: 1 });
  });

  it.each([
    ["a key below it", async (ours: Holdfast) => void (await ours.acquire("site/below"))],
    ["a key above it, to read", async (ours: Holdfast) => void (await ours.acquire("site", { mode: "read" }))],
    [
      "a lease by name",
      async (ours: Holdfast) => void (await createRuntimeLeases(ours).acquire("gates", "nightly", "1m")),
    ],
    ["the lock of a job", startJob],
  ])("is settled before %s is told as granted", async (what, take) => {
    const store = await newPostgresStore(await sharedServer());
    await leaveSealed(
      store,
      what === "a lease by name" ? "runtime:gates/x" : what.includes("above") ? "site/x" : "site",
    );
    const ours = await client(store);
    await take(ours);
    expect(await states(ours)).toEqual(["aborted"]);
  });

  it("is settled before whoever waits in line hears that the holder has released", async () => {
    const store = await newPostgresStore(await sharedServer());
    const ours = await client(store);
    const lease = await (await client(store, "agent:doomed")).acquire("site");
    const { waiting } = await standInLine(ours, store);
    await sealUnder(lease);
    const fresh = `select 1 from holdfast.tickets where holdfast.now_ms() - refreshed_ms < 300
      and not pg_try_advisory_xact_lock_shared(holdfast.listener_of(nonce))`;
    await vi.waitUntil(async () => (await administer(store, fresh)).length > 0, { timeout: 120_000, interval: 10 });
    await lease.release();
    await waiting;
    expect(await states(ours)).toEqual(["aborted"]);
  });

  it("is settled by a process that finds the marks removed, on the machine where it was", async () => {
    const store = await newPostgresStore(await sharedServer());
    await leaveSealed(store);
    rmSync(join(dir, "place", ".holdfast-fence"), { recursive: true });
    const ours = await client(store);
    await ours.acquire("site");
    expect(await states(ours)).toEqual(["aborted"]);
  });

  // kills: publish-given-back
  it("and cannot be settled: the lock is not given to anybody until it can", async () => {
    const store = await newPostgresStore(await sharedServer());
    await leaveSealed(store);
    const tmp = join(dir, "place", "tmp");
    const [id = ""] = readdirSync(tmp);
    mkdirSync(join(dir, "place", `.holdfast-${id}`, "in the way"), { recursive: true });
    const ours = await client(store);
    expect(await codeOf(ours.acquire("site"))).toBe("E_IO");
    expect((await ours.inspect("site")).state).toBe("free");
    expect(await states(ours)).toEqual(["pending"]);
    rmSync(join(dir, "place", `.holdfast-${id}`), { recursive: true });
    await ours.acquire("site");
    expect(await states(ours)).toEqual(["aborted"]);
    await ours.close();
    expect(debrisAt(target)).toEqual([]);
  });

  it("with a whole folder that is gone is undone", async () => {
    const store = await newPostgresStore(await sharedServer());
    await leaveSealed(store);
    renameSync(join(dir, "place"), join(dir, "moved"));
    const ours = await client(store);
    await ours.acquire("site/below");
    expect(await states(ours)).toEqual(["aborted"]);
    expect(existsSync(join(dir, "place"))).toBe(false);
  });
});
