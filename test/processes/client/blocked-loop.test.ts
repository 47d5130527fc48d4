/** Programs that block their event loop: the heart beats beside it, for as long as `maxStall` allows. */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type Client, type RemoteError, RemoteLease } from "../../fixtures/client/client-process.fixture.js";
import { isAfterLeaseOf, Scene, SIDE_BY_SIDE, STORES } from "../../fixtures/client/processes.fixture.js";
import { comesOff } from "../../fixtures/succeeds-once.fixture.js";

/** A machine that gives a process no time does not let it keep a lease: then with a longer one. */
async function keptThroughBlock(scene: Scene, [holder, waiter]: [Client, Client], time: number): Promise<boolean> {
  const leaseMs = 4_000 * time;
  const goOn = `go on ${time}`;
  const holding = holder.acquireAndBlock("work", { ttl: leaseMs, wait: "1m" }, scene.file(goOn));
  await scene.untilGranted("work");
  const taken = await waiter.acquire("work", { wait: leaseMs + 1_000 }).catch((error: RemoteError) => error);
  scene.touch(goOn);
  const held = await holding;
  if (taken instanceof RemoteLease) await taken.release();
  else {
    expect(taken.code).toBe("E_LOCK_TIMEOUT");
    const { state } = await held.look();
    if (state === "held") {
      await held.commit(scene.file("result"), "kept");
      expect(scene.read("result")).toBe("kept");
      return true;
    }
  }
  for (const client of [holder, waiter]) await client.kill();
  return false;
}

describe.each(STORES)("a blocked event loop (%s)", SIDE_BY_SIDE, (kind) => {
  // kills: heart-beside-loop
  it("LOCK-5: a lease is kept through a block of longer than it that begins in the next instruction", async () => {
    await using scene = new Scene(kind);
    await comesOff(async (time) => keptThroughBlock(scene, await scene.startTwo(), time));
  });

  // kills: stall
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
    await comesOff(async (time) => {
      const clients = await scene.startTwo();
      await (await clients[0].acquire("warm-up", { wait: "1m" })).release();
      // Long enough for the heart to rest.
      await sleep(5_500);
      return keptThroughBlock(scene, clients, time);
    });
  });

  it("LOCK-5: a program that takes one lock after the other without a pause makes progress", async () => {
    await using scene = new Scene(kind);
    await comesOff(async (time) => {
      const holder = await scene.start({ maxStall: 1_000 * time });
      const held = await holder.acquire("outer", { ttl: 3_000 * time, wait: "1m" });
      await holder.loop("inner", { holdMs: 0, forMs: 6_000 * time });
      const { state } = await held.look();
      if (state === "held") await held.commit(scene.file("result"), "kept");
      await holder.kill();
      return state === "held";
    });
  });
});
