/** Processes that are stopped (SIGSTOP) and go on later: a stopped process is not dead, but its time runs. */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { TICKET_LEASE_MS } from "../../../src/lock/profile.js";
import { isAfterLeaseOf, Scene, SIDE_BY_SIDE, STORES } from "../../fixtures/client/processes.fixture.js";
import { comesOff } from "../../fixtures/succeeds-once.fixture.js";

const REFUSED = /^E_(LOCK_EXPIRED|FENCING_MISMATCH|LOCK_NOT_HELD)$/;

describe.each(STORES)("stopped processes (%s)", SIDE_BY_SIDE, (kind) => {
  // kills: fence-check, release-own
  it("FENCE-2: a holder stopped past its lease is succeeded at its end, and commits nothing when it goes on", async () => {
    await using scene = new Scene(kind);
    const [holder, waiter] = await scene.startTwo();
    const held = await holder.acquire("work", { ttl: "1h" });
    const handed = await holder.call("borrow", "work", held.token);
    const shorter = await held.renew("1s");
    await scene.stop(holder, "work");

    const taken = await waiter.acquire("work", { wait: "1m" });
    expect(taken.record).toSatisfy(isAfterLeaseOf(shorter));
    expect(taken.fencingToken).toBeGreaterThan(held.fencingToken);
    expect(await scene.entries("stolen")).toMatchObject([
      { details: { reason: "lease_expired", evidence: { life: "alive" } } },
    ]);
    await taken.commit(scene.file("result"), "new");

    holder.continue();
    await expect(held.commit(scene.file("result"), "old")).rejects.toMatchObject({
      code: expect.stringMatching(REFUSED),
    });
    // What the lease believes of itself does not count here: the check in the store refuses.
    await expect(holder.call("commit", handed, scene.file("result"), "old")).rejects.toMatchObject({
      code: "E_FENCING_MISMATCH",
      details: { current: [taken.fencingToken] },
    });
    expect(scene.read("result")).toBe("new");
    expect(await held.look()).toMatchObject({ state: "lost", abort: { code: expect.stringMatching(REFUSED) } });
    await expect(held.resume()).rejects.toMatchObject({ code: "E_LOCK_NOT_HELD" });
    // Nor does it take the lock away from its successor.
    await held.release();
    await taken.commit(scene.file("result"), "newer");
  });

  // kills: fence-check
  it("FENCE-2: when the successor has released meanwhile, the old holder still commits nothing", async () => {
    await using scene = new Scene(kind);
    const [holder, waiter] = await scene.startTwo();
    const held = await holder.acquire("work", { ttl: "1h" });
    const handed = await holder.call("borrow", "work", held.token);
    await held.renew("1s");
    await scene.stop(holder, "work");
    const taken = await waiter.acquire("work", { wait: "1m" });
    await taken.commit(scene.file("result"), "new");
    await taken.release();
    holder.continue();
    await expect(holder.call("commit", handed, scene.file("result"), "old")).rejects.toMatchObject({
      code: "E_LOCK_NOT_HELD",
    });
    expect(scene.read("result")).toBe("new");
  });

  // kills: expiry-check
  it("LOCK-7: a lapsed lease that nobody took commits nothing, and resumes with a new fencing token", async () => {
    await using scene = new Scene(kind);
    const holder = await scene.start();
    const held = await holder.acquire("work", { ttl: "1h" });
    const handed = await holder.call("borrow", "work", held.token);
    await held.renew("8s");
    await scene.stop(holder, "work");
    await scene.untilExpired("work");
    holder.continue();
    await expect(holder.call("commit", handed, scene.file("result"), "old")).rejects.toMatchObject({
      code: "E_LOCK_EXPIRED",
    });
    await expect(held.commit(scene.file("result"), "old")).rejects.toMatchObject({ code: "E_LOCK_EXPIRED" });
    expect(await held.look()).toMatchObject({ state: "lost", abort: { code: "E_LOCK_EXPIRED" } });
    const resumed = await held.resume();
    expect(resumed.fencingToken).toBeGreaterThan(held.fencingToken);
    await resumed.commit(scene.file("result"), "resumed");
    await expect(held.commit(scene.file("result"), "old")).rejects.toMatchObject({ code: "E_LOCK_EXPIRED" });
    expect(scene.read("result")).toBe("resumed");
  });

  // kills: renew-in-time
  it("LOCK-7: the heart does not revive what ran out while the process was stopped", async () => {
    await using scene = new Scene(kind);
    const holder = await scene.start({ heartbeat: "500ms" });
    // With a heart that is awake.
    await holder.acquire("warm-up", { ttl: "1h" });
    await scene.untilRenewed("warm-up", new Date());
    const holding = holder.acquireAndBlock("work", { ttl: "8s" }, scene.file("go on"));
    await scene.untilHeld("work");
    await scene.stop(holder, "work");
    await scene.untilExpired("work");
    holder.continue();
    // The main thread is still blocked: only the heart can act.
    await sleep(1_000);
    expect((await (await scene.open()).inspect("work")).state).toBe("expired");
    scene.touch("go on");
    const held = await holding;
    await expect(held.commit(scene.file("result"), "old")).rejects.toMatchObject({ code: "E_LOCK_EXPIRED" });
  });

  it("STALE-2: a holder stopped within its lease keeps the lock", async () => {
    await using scene = new Scene(kind);
    const [holder, waiter] = await scene.startTwo();
    const held = await holder.acquire("work", { ttl: "1m" });
    await scene.stop(holder, "work");
    await expect(waiter.acquire("work", { wait: "2s" })).rejects.toMatchObject({ code: "E_LOCK_TIMEOUT" });
    holder.continue();
    await held.commit(scene.file("result"), "kept");
    expect(await held.look()).toEqual({ state: "held", abort: null });
    expect(await scene.entries("stolen")).toEqual([]);
  });

  // kills: stopped-waiter
  it("LOCK-12: a stopped waiter loses its place, and gets a new one when it goes on", async () => {
    await using scene = new Scene(kind);
    const [holder, first, second] = await scene.startThree();
    const held = await holder.acquire("work");
    const stopped = first.acquire("work", { wait: "5m" });
    await scene.untilInLine("work", "agent:b", stopped);
    const waiting = second.acquire("work", { wait: "1m" });
    await scene.untilInLine("work", "agent:c", waiting);
    await scene.stop(first, "work");
    await sleep(TICKET_LEASE_MS + 1);
    await held.release();
    const { grants } = await (await scene.open()).inspect("work");
    expect(grants.map(({ owner }) => owner)).not.toContain("agent:b");
    // While the first is still stopped, and long before either has waited enough.
    const taken = await waiting;

    first.continue();
    await sleep(100);
    await taken.commit(scene.file("result"), "second");
    await taken.release();
    expect((await stopped).fencingToken).toBeGreaterThan(taken.fencingToken);
  });

  // kills: trust-on-time, trust-margin
  it("LOCK-6: a holder that cannot renew is told before its lease is over", async () => {
    await using scene = new Scene(kind);
    const [holder, blocker, waiter] = await scene.startThree();
    await comesOff(async (time) => {
      const leaseMs = Math.min(10_000, 2_000 * time);
      const other = await blocker.acquire("tree/else", { ttl: "1h" });
      const held = await holder.acquire("tree/work", { ttl: leaseMs });
      const waiting = waiter.acquire("tree/work", { wait: "2m" });
      await scene.untilInLine("tree", "agent:c", waiting);
      // No renewal gets past this.
      await other.commitAndBlock(leaseMs + 1_500);
      await other.release();
      const { state, abort } = await held.look();
      expect(state).toBe("lost");
      expect(abort?.code).toMatch(REFUSED);
      const taken = await waiting;
      const lapsed = (await scene.entries("stolen")).at(-1);
      expect(lapsed).toMatchObject({ lock_id: held.record.lock_id, details: { reason: "lease_expired" } });
      const previous = lapsed?.details.previous as { readonly last_renewed_at: string } | undefined;
      const overAt = Date.parse(previous?.last_renewed_at ?? "") + leaseMs;
      expect(Date.parse(taken.record.created_at)).toBeGreaterThan(overAt - 5);
      await taken.release();
      // The margin is a tenth of the lease; half of it is left to a busy machine.
      return abort?.code === "E_LOCK_EXPIRED" && abort.at < overAt - leaseMs / 20;
    });
  });

  it("STORE-6: a guard that a process keeps too long is told of, and nothing is lost by it", async () => {
    await using scene = new Scene(kind);
    const [holder, blocker, other] = await scene.startThree();
    const held = await holder.acquire("tree/work", { ttl: "1h" });
    const blocking = await blocker.acquire("tree/else", { ttl: "1h" });
    const blocked = blocking.commitAndBlock(scene.file("go on"), scene.file("inside"));
    await scene.untilThere("inside");
    await expect(other.acquire("tree/more", { wait: "1s" })).rejects.toMatchObject({ code: "E_STORE_UNAVAILABLE" });
    scene.touch("go on");
    await blocked;
    await (await other.acquire("tree/more", { wait: "1m" })).release();
    await held.commit(scene.file("result"), "kept");
    await expect(other.acquire("tree/work", { wait: "100ms" })).rejects.toMatchObject({ code: "E_LOCK_TIMEOUT" });
  });

  it("STORE-6: a heart that could not reach the store at first beats when it can", async () => {
    await using scene = new Scene(kind);
    const [holder, blocker] = await scene.startTwo({ heartbeat: "500ms" });
    const blocking = await blocker.acquire("tree/else");
    await holder.acquire("tree/work", { ttl: "10m" });
    await blocking.commitAndBlock(7_000);
    await scene.untilRenewed("tree/work", new Date());
  });
});
