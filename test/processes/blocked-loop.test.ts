/** Programs that block their event loop: the heart beats beside it, for as long as `maxStall` allows. */
import { describe, expect, it } from "vitest";
import { isAfterLeaseOf, Scene, SIDE_BY_SIDE, STORES } from "./scene.js";

describe.each(STORES)("a blocked event loop (%s)", SIDE_BY_SIDE, (kind) => {
  it("LOCK-5: a lease is kept through a block of longer than it that begins in the next instruction", async () => {
    await using scene = new Scene(kind);
    const [holder, waiter] = await scene.startTwo();
    const holding = holder.acquireAndBlock("work", { ttl: "9s" }, scene.file("go on"));
    await scene.untilHeld("work");
    await expect(waiter.acquire("work", { wait: "10s" })).rejects.toMatchObject({ code: "E_LOCK_TIMEOUT" });
    scene.touch("go on");
    const held = await holding;
    await held.commit(scene.file("result"), "kept");
    expect(scene.read("result")).toBe("kept");
    expect(await held.look()).toEqual({ state: "held", abort: null });
    expect(await scene.entries("stolen")).toEqual([]);
  });

  it("LOCK-5: a main thread that makes no progress for `maxStall` is not renewed any more", async () => {
    await using scene = new Scene(kind);
    const [holder, waiter] = await scene.startTwo({ maxStall: "6s", heartbeat: "500ms" });
    // With a heart that is awake.
    await holder.acquire("warm-up", { ttl: "1h" });
    await scene.untilRenewed("warm-up", new Date());
    const holding = holder.acquireAndBlock("work", { ttl: "6s" }, scene.file("go on"));
    await scene.untilHeld("work");
    const taken = await waiter.acquire("work", { wait: "2m" });
    const [lapsed] = await scene.entries("stolen");
    expect(lapsed?.details).toMatchObject({ reason: "lease_expired", evidence: { life: "alive" } });
    // It was renewed while the stall was short enough.
    expect(lapsed?.details.previous).toMatchObject({ renewals: expect.toSatisfy((count: number) => count > 0) });

    scene.touch("go on");
    const held = await holding;
    expect(taken.record).toSatisfy(isAfterLeaseOf(held.record));
    await expect(held.commit(scene.file("result"), "old")).rejects.toMatchObject({
      code: expect.stringMatching(/^E_(LOCK_EXPIRED|LOCK_NOT_HELD|FENCING_MISMATCH)$/),
    });
    await taken.commit(scene.file("result"), "new");
    expect(scene.read("result")).toBe("new");
  });

  it("LOCK-5: the second lease of a program is kept through a block as the first is", async () => {
    await using scene = new Scene(kind);
    const [holder, waiter] = await scene.startTwo();
    await (await holder.acquire("warm-up")).release();
    // Long enough for the heart to rest.
    await new Promise((resolve) => setTimeout(resolve, 5_500));
    const holding = holder.acquireAndBlock("work", { ttl: "6s" }, scene.file("go on"));
    await scene.untilHeld("work");
    await expect(waiter.acquire("work", { wait: "7s" })).rejects.toMatchObject({ code: "E_LOCK_TIMEOUT" });
    scene.touch("go on");
    await (await holding).commit(scene.file("result"), "kept");
  });

  it("LOCK-5: a program that takes one lock after the other without a pause makes progress", async () => {
    await using scene = new Scene(kind);
    const holder = await scene.start({ maxStall: "2s" });
    const held = await holder.acquire("outer", { ttl: "6s" });
    await holder.loop("inner", { holdMs: 0, forMs: 9_000 });
    await held.commit(scene.file("result"), "kept");
    expect(await held.look()).toEqual({ state: "held", abort: null });
  });
});
