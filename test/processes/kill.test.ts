/** Holders and waiters that are killed: proof of death, and what does not count as one. */
import { copyFileSync, linkSync, renameSync, rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { isAfterLeaseOf, Scene, SIDE_BY_SIDE, STORES } from "./scene.js";

describe.each(STORES)("killed processes (%s)", SIDE_BY_SIDE, (kind) => {
  it("STALE-2: a killed holder's lease of 30 s is taken over by the waiter in well under a second", async () => {
    await using scene = new Scene(kind);
    const [holder, waiter] = await scene.startTwo();
    const held = await holder.acquire("work", { ttl: "30s", metadata: { task: "T-1" } });
    const waiting = waiter.acquire("work", { wait: "20s" });
    await sleep(200);

    const killedAt = performance.now();
    await holder.kill();
    const taken = await waiting;
    expect(performance.now() - killedAt).toBeLessThan(1_000);
    expect(taken.fencingToken).toBeGreaterThan(held.fencingToken);
    await taken.commit(scene.file("result"), "done");

    const stolen = await scene.entries("stolen");
    expect(stolen).toMatchObject([
      {
        resource: "work",
        owner: "agent:b",
        lock_id: held.record.lock_id,
        details: {
          reason: "process_dead",
          evidence: { life: "dead", expired_for_ms: 0 },
          previous: { owner: "agent:a", holder_id: held.record.holder_id, metadata: { task: "T-1" } },
          old_fencing_token: held.fencingToken,
          new_fencing_token: taken.fencingToken,
          by_lock_id: taken.record.lock_id,
        },
      },
    ]);
  });

  it("STALE-2: whoever comes after the kill gets the lock at once, without waiting", async () => {
    await using scene = new Scene(kind);
    const [holder, next] = await scene.startTwo();
    await holder.acquire("work");
    expect(await next.tryAcquire("work")).toBeNull();
    await holder.kill();
    expect(await next.tryAcquire("work")).not.toBeNull();
  });

  it("STALE-1: under the profile `lease` a dead process's grant waits for its lease, under `strict` it ends at once", async () => {
    await using scene = new Scene(kind);
    const profiles = { "worktree:": "lease", "hand:": "strict" } as const;
    const [holder, next] = await scene.startTwo({ profiles });
    const held = await holder.acquire("worktree:main", { ttl: "1s" });
    await holder.acquire("hand:work", { ttl: "1s" });
    await holder.kill();
    expect(await next.tryAcquire("worktree:main")).toBeNull();
    expect(await next.tryAcquire("hand:work")).not.toBeNull();
    const taken = await next.acquire("worktree:main", { wait: "5s" });
    expect(taken.record).toSatisfy(isAfterLeaseOf(held.record));
  });

  it("LOCK-12: a killed waiter does not hold up the line behind it", async () => {
    await using scene = new Scene(kind);
    const [holder, first, second] = await scene.startThree();
    const held = await holder.acquire("work");
    const doomed = first.acquire("work", { wait: "20s" }).catch((error: Error) => error.message);
    await sleep(100);
    const waiting = second.acquire("work", { wait: "20s" });
    await sleep(100);
    await first.kill();
    expect(await doomed).toMatch(/SIGKILL/);

    const releasedAt = performance.now();
    await held.release();
    await waiting;
    // Its place in line would have stood for two seconds.
    expect(performance.now() - releasedAt).toBeLessThan(1_000);
  });

  it("STALE-2: a missing proof of life is unknown, not dead: the lease decides", async () => {
    await using scene = new Scene(kind);
    const [holder, next] = await scene.startTwo();
    const held = await holder.acquire("work", { ttl: "2s" });
    await holder.kill();
    rmSync(scene.proofFile(held.record.nonce));
    const taken = await next.acquire("work", { wait: "10s" });
    expect(taken.record).toSatisfy(isAfterLeaseOf(held.record));
    expect(await scene.entries("stolen")).toMatchObject([
      { details: { reason: "lease_expired", evidence: { life: "unknown" } } },
    ]);
  });

  it("STALE-2: a holder whose proof of life was deleted is renewed and keeps the lock", async () => {
    await using scene = new Scene(kind);
    const [holder, next] = await scene.startTwo();
    const held = await holder.acquire("work", { ttl: "3s" });
    rmSync(scene.proofFile(held.record.nonce));
    await expect(next.acquire("work", { wait: "4s" })).rejects.toMatchObject({ code: "E_LOCK_TIMEOUT" });
    await held.commit(scene.file("result"), "kept");
    expect(scene.read("result")).toBe("kept");
  });

  it("STALE-2: a copy in place of the proof of life proves nothing", async () => {
    await using scene = new Scene(kind);
    const [holder, next] = await scene.startTwo();
    const held = await holder.acquire("work");
    const proof = scene.proofFile(held.record.nonce);
    copyFileSync(proof, `${proof}.copy`);
    renameSync(`${proof}.copy`, proof);
    // Nobody has locked the copy, which would read as dead if it were taken for the original.
    await expect(next.acquire("work", { wait: "500ms" })).rejects.toMatchObject({ code: "E_LOCK_TIMEOUT" });
    await held.commit(scene.file("result"), "kept");
  });

  it("STALE-2: another process's proof of life does not keep a dead holder's grant", async () => {
    await using scene = new Scene(kind);
    const [holder, bystander, next] = await scene.startThree();
    const held = await holder.acquire("work", { ttl: "1s" });
    const other = await bystander.acquire("else");
    await holder.kill();
    const proof = scene.proofFile(held.record.nonce);
    rmSync(proof);
    linkSync(scene.proofFile(other.record.nonce), proof);
    const taken = await next.acquire("work", { wait: "5s" });
    expect(taken.record).toSatisfy(isAfterLeaseOf(held.record));
    expect(await scene.entries("stolen")).toMatchObject([{ details: { evidence: { life: "unknown" } } }]);
  });
});
