/** Processes that are stopped (SIGSTOP) and go on later: a stopped process is not dead, but its time runs. */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { isAfterLeaseOf, Scene, SIDE_BY_SIDE, STORES } from "./scene.js";

const REFUSED = /^E_(LOCK_EXPIRED|FENCING_MISMATCH|LOCK_NOT_HELD)$/;

describe.each(STORES)("stopped processes (%s)", SIDE_BY_SIDE, (kind) => {
  it("FENCE-2: a holder stopped past its lease is succeeded at its end, and commits nothing when it goes on", async () => {
    await using scene = new Scene(kind);
    const [holder, waiter] = await scene.startTwo();
    const held = await holder.acquire("work", { ttl: "1s" });
    const handed = await holder.call("borrow", "work", held.token);
    await holder.stop();

    const taken = await waiter.acquire("work", { wait: "10s" });
    expect(taken.record).toSatisfy(isAfterLeaseOf(held.record));
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

  it("FENCE-2: when the successor has released meanwhile, the old holder still commits nothing", async () => {
    await using scene = new Scene(kind);
    const [holder, waiter] = await scene.startTwo();
    const held = await holder.acquire("work", { ttl: "1s" });
    const handed = await holder.call("borrow", "work", held.token);
    await holder.stop();
    const taken = await waiter.acquire("work", { wait: "10s" });
    await taken.commit(scene.file("result"), "new");
    await taken.release();
    holder.continue();
    await expect(holder.call("commit", handed, scene.file("result"), "old")).rejects.toMatchObject({
      code: "E_LOCK_NOT_HELD",
    });
    expect(scene.read("result")).toBe("new");
  });

  it("LOCK-7: a lapsed lease that nobody took commits nothing, and resumes with a new fencing token", async () => {
    await using scene = new Scene(kind);
    const holder = await scene.start();
    const held = await holder.acquire("work", { ttl: "1s" });
    const handed = await holder.call("borrow", "work", held.token);
    await holder.stop();
    await sleep(1_300);
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

  it("LOCK-7: the heart does not revive what ran out while the process was stopped", async () => {
    await using scene = new Scene(kind);
    const holder = await scene.start();
    const holding = holder.acquireAndBlock("work", { ttl: "1s" }, 4_000);
    await scene.untilHeld("work");
    await holder.stop();
    await sleep(1_400);
    holder.continue();
    // The main thread is still blocked: only the heart can act.
    await sleep(1_000);
    expect((await (await scene.open()).inspect("work")).state).toBe("expired");
    const held = await holding;
    await expect(held.commit(scene.file("result"), "old")).rejects.toMatchObject({ code: "E_LOCK_EXPIRED" });
  });

  it("STALE-2: a holder stopped within its lease keeps the lock", async () => {
    await using scene = new Scene(kind);
    const [holder, waiter] = await scene.startTwo();
    const held = await holder.acquire("work", { ttl: "10s" });
    await holder.stop();
    await expect(waiter.acquire("work", { wait: "2s" })).rejects.toMatchObject({ code: "E_LOCK_TIMEOUT" });
    holder.continue();
    await held.commit(scene.file("result"), "kept");
    expect(await held.look()).toEqual({ state: "held", abort: null });
    expect(await scene.entries("stolen")).toEqual([]);
  });

  it("LOCK-12: a stopped waiter loses its place, and gets a new one when it goes on", async () => {
    await using scene = new Scene(kind);
    const [holder, first, second] = await scene.startThree();
    const held = await holder.acquire("work");
    const stopped = first.acquire("work", { wait: "20s" });
    await sleep(100);
    const waiting = second.acquire("work", { wait: "20s" });
    await sleep(100);
    await first.stop();
    const stoppedAt = performance.now();
    await held.release();
    const taken = await waiting;
    expect(performance.now() - stoppedAt).toBeLessThan(3_000);

    first.continue();
    await sleep(100);
    await taken.commit(scene.file("result"), "second");
    await taken.release();
    expect((await stopped).fencingToken).toBeGreaterThan(taken.fencingToken);
  });

  it("LOCK-6: a holder that cannot renew is told before its lease is over", async () => {
    await using scene = new Scene(kind);
    const [holder, blocker, waiter] = await scene.startThree();
    const held = await holder.acquire("tree/work", { ttl: "2s" });
    const other = await blocker.acquire("tree/else");
    const waiting = waiter.acquire("tree/work", { wait: "20s" });
    await sleep(100);
    // No renewal gets past this.
    await other.commitAndBlock(3_500);
    const { state, abort } = await held.look();
    expect(state).toBe("lost");
    expect(abort?.code).toBe("E_LOCK_EXPIRED");
    const taken = await waiting;
    const [lapsed] = await scene.entries("stolen");
    expect(lapsed).toMatchObject({ lock_id: held.record.lock_id, details: { reason: "lease_expired" } });
    const previous = lapsed?.details.previous as { readonly last_renewed_at: string } | undefined;
    const renewedAt = Date.parse(previous?.last_renewed_at ?? "");
    // The margin is a tenth of the lease; half of it is left to a busy machine.
    expect(abort?.at).toBeLessThan(renewedAt + 2_000 - 100);
    expect(Date.parse(taken.record.created_at)).toBeGreaterThan(renewedAt + 2_000 - 5);
  });

  it("STORE-6: a guard that a process keeps too long is told of, and nothing is lost by it", async () => {
    await using scene = new Scene(kind);
    const [holder, blocker, other] = await scene.startThree();
    const held = await holder.acquire("tree/work");
    const blocking = await blocker.acquire("tree/else");
    const blocked = blocking.commitAndBlock(7_000);
    await sleep(200);
    await expect(other.acquire("tree/more", { wait: "1s" })).rejects.toMatchObject({ code: "E_STORE_UNAVAILABLE" });
    await blocked;
    await (await other.acquire("tree/more")).release();
    await held.commit(scene.file("result"), "kept");
    await expect(other.acquire("tree/work", { wait: "100ms" })).rejects.toMatchObject({ code: "E_LOCK_TIMEOUT" });
  });

  it("STORE-6: a heart that could not reach the store at first beats when it can", async () => {
    await using scene = new Scene(kind);
    const [holder, blocker] = await scene.startTwo({ heartbeat: "500ms" });
    const blocking = await blocker.acquire("tree/else");
    await holder.acquire("tree/work", { ttl: "20s" });
    await blocking.commitAndBlock(7_000);
    await scene.untilRenewed("tree/work", new Date());
  });
});
