/** Publishers that are not the holder any more: they publish nothing, are told why, and leave nothing. */
import { rmSync } from "node:fs";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Holdfast } from "../../../src/client/holdfast.js";
import type { Lease } from "../../../src/client/lease/lease.js";
import { listManifests, publish } from "../../../src/publish.js";
import { scratchFolder } from "../../fixtures/crash/crash-sweep.fixture.js";
import { prepare } from "../../fixtures/publish/crash-sweep.fixture.js";
import {
  debrisAt,
  KEY,
  removeScene,
  type Scene,
  treeOf,
  verifiedVersion,
} from "../../fixtures/publish/publish.fixture.js";

const TTL = 24 * 3_600_000;

describe.each(["sqlite", "file", "postgres"] as const)("on the %s store", (kind) => {
  let base: string;
  let scene: Scene;
  let ours: Holdfast;
  let theirs: Holdfast;
  let lease: Lease;

  beforeAll(() => {
    base = scratchFolder();
  });

  afterAll(() => {
    rmSync(base, { recursive: true, force: true });
  });

  beforeEach(async () => {
    scene = await prepare(base, { kind, replaces: true });
    ours = await scene.open("agent:ours");
    theirs = await scene.open("admin:theirs");
    lease = await ours.acquire(KEY, { ttl: TTL });
  });

  async function expectNothingPublished(work: Promise<unknown>, code: string): Promise<void> {
    await expect(work).rejects.toMatchObject({ code });
    await ours.close();
    expect(await verifiedVersion(theirs, scene.target)).toBe("old");
    expect(await listManifests(theirs, { state: "pending" })).toEqual([]);
    await theirs.close();
    expect(debrisAt(scene.target)).toEqual([]);
    removeScene(scene);
  }

  const takeOver = async (): Promise<Lease> => {
    await scene.pass(TTL + 1_000);
    return theirs.acquire(KEY);
  };
  /** Whoever borrows has no idea of its own how long the lease lasts. */
  const borrowed = () => ours.borrow(KEY, lease.token);

  it("PUB-1 FENCE-2: a lease that ran out while staging", async () => {
    const late = publish(lease, scene.target, async (stage) => {
      await treeOf("late")(stage);
      await scene.pass(TTL + 1_000);
    });
    await expectNothingPublished(late, "E_LOCK_EXPIRED");
  });

  // kills: publish-check, publish-server-check (postgres)
  it("PUB-1 FENCE-2: a lease that ran out between the seal and the commit, for one who does not know", async () => {
    const beforeCommit = () => scene.pass(TTL + 1_000);
    await expectNothingPublished(
      publish(await borrowed(), scene.target, treeOf("late"), { beforeCommit }),
      "E_LOCK_EXPIRED",
    );
  });

  // kills: publish-check, publish-server-check (postgres)
  it("PUB-1 FENCE-5: a lock stolen between the seal and the commit", async () => {
    const beforeCommit = async () => void (await takeOver());
    await expectNothingPublished(
      publish(await borrowed(), scene.target, treeOf("late"), { beforeCommit }),
      "E_FENCING_MISMATCH",
    );
  });

  it("PUB-1 FENCE-5: a lock stolen while staging, and released again by the thief", async () => {
    const late = publish(await borrowed(), scene.target, async (stage) => {
      await treeOf("late")(stage);
      await (await takeOver()).release();
    });
    await expectNothingPublished(late, "E_LOCK_NOT_HELD");
  });

  it("PUB-1 STALE-6: a lock that an administrator broke", async () => {
    const beforeCommit = async () => void (await theirs.break(KEY, { reason: "out of the way" }));
    await expectNothingPublished(
      publish(await borrowed(), scene.target, treeOf("late"), { beforeCommit }),
      "E_LOCK_NOT_HELD",
    );
  });

  it("PUB-1 LOCK-10: a token from before", async () => {
    const old = lease.token;
    await takeOver();
    await expectNothingPublished(ours.borrow(KEY, old), "E_LOCK_NOT_HELD");
  });

  // kills: publish-order-sql
  it("PUB-3: what the successor publishes stands, and nothing of its stage is touched by the late one", async () => {
    let late: Promise<unknown> = Promise.resolve();
    const isStaged = withResolvers();
    const mayGoOn = withResolvers();
    const borrowedLease = await borrowed();
    late = publish(borrowedLease, scene.target, async (stage) => {
      await treeOf("late")(stage);
      isStaged.resolve(undefined);
      await mayGoOn.promise;
    });
    late.catch(() => undefined);
    await isStaged.promise;
    const taken = await takeOver();
    await publish(taken, scene.target, async (stage) => {
      await treeOf("theirs")(stage);
      mayGoOn.resolve(undefined);
      await expect(late).rejects.toMatchObject({ code: "E_FENCING_MISMATCH" });
    });
    expect(await verifiedVersion(theirs, scene.target)).toBe("theirs");
    await ours.close();
    await theirs.close();
    expect(debrisAt(scene.target)).toEqual([]);
    removeScene(scene);
  });
});

function withResolvers(): { promise: Promise<unknown>; resolve(value: unknown): void } {
  let resolve: (value: unknown) => void = () => undefined;
  const promise = new Promise((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
