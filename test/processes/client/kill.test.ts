/** Holders and waiters that are killed: proof of death, and what does not count as one. */
import { copyFileSync, linkSync, renameSync, rmSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { isAfterLeaseOf, Scene, SIDE_BY_SIDE, STORES } from "../../fixtures/client/processes.fixture.js";
import { comesOff } from "../../fixtures/succeeds-once.fixture.js";

describe.each(STORES)("killed processes (%s)", SIDE_BY_SIDE, (kind) => {
  // kills: proof-of-death, just-seen
  it("STALE-2: a killed holder's lease of 30 s is taken over by the waiter in well under a second", async () => {
    await using scene = new Scene(kind);
    const waiter = await scene.start({ owner: "agent:b" });
    let takenAfterMs = Number.POSITIVE_INFINITY;
    await comesOff(async () => {
      const holder = await scene.start();
      const held = await holder.acquire("work", { ttl: "30s", metadata: { task: "T-1" } });
      const waiting = waiter.acquire("work", { wait: "1m" });
      await scene.untilInLine("work", "agent:b", waiting);

      const killedAt = performance.now();
      await holder.kill();
      const taken = await waiting;
      takenAfterMs = performance.now() - killedAt;
      expect(taken.fencingToken).toBeGreaterThan(held.fencingToken);
      await taken.commit(scene.file("result"), "done");

      const stolen = await scene.entries("stolen");
      expect(stolen.at(-1)).toMatchObject({
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
      });
      await taken.release();
      return takenAfterMs < 1_000;
    });
  });

  // kills: just-seen-try
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
    const held = await holder.acquire("worktree:main", { ttl: "2s" });
    await holder.acquire("hand:work", { ttl: "1h" });
    await holder.kill();
    expect(await next.tryAcquire("hand:work")).not.toBeNull();
    const taken = await next.acquire("worktree:main", { wait: "1m" });
    expect(taken.record).toSatisfy(isAfterLeaseOf(held.record));
  });

  it("LOCK-12: a killed waiter does not hold up the line behind it", async () => {
    await using scene = new Scene(kind);
    const [holder, second] = await scene.startTwo();
    await comesOff(async () => {
      const first = await scene.start({ owner: "agent:first" });
      const held = await holder.acquire("work");
      const doomed = first.acquire("work", { wait: "1m" }).catch((error: Error) => error.message);
      await scene.untilInLine("work", "agent:first", doomed);
      const waiting = second.acquire("work", { wait: "1m" });
      await scene.untilInLine("work", "agent:b", waiting);
      await first.kill();
      expect(await doomed).toMatch(/SIGKILL/);

      const releasedAt = performance.now();
      await held.release();
      await (await waiting).release();
      // Its place in line would have stood for two seconds.
      return performance.now() - releasedAt < 1_000;
    });
  });

  // kills: dead-waiter
  it("LOCK-12: a killed waiter does not hold up who comes when its holder was killed too", async () => {
    await using scene = new Scene(kind);
    const next = await scene.start({ owner: "agent:next" });
    await comesOff(async () => {
      const [holder, first] = [
        await scene.start({ owner: "agent:holder" }),
        await scene.start({ owner: "agent:first" }),
      ];
      await holder.acquire("work");
      const doomed = first.acquire("work", { wait: "1m" }).catch((error: Error) => error.message);
      await scene.untilInLine("work", "agent:first", doomed);
      await first.kill();
      await holder.kill();
      expect(await doomed).toMatch(/SIGKILL/);

      const askedAt = performance.now();
      await (await next.acquire("work", { wait: "1m" })).release();
      // Its place in line would have stood for two seconds.
      return performance.now() - askedAt < 1_000;
    });
  });

  // kills: unknown-is-dead
  it("STALE-2: a missing proof of life is unknown, not dead: the lease decides", async () => {
    await using scene = new Scene(kind);
    const [holder, next] = await scene.startTwo();
    const held = await holder.acquire("work", { ttl: "2s" });
    await holder.kill();
    rmSync(scene.proofFile(held.record.nonce));
    const taken = await next.acquire("work", { wait: "1m" });
    expect(taken.record).toSatisfy(isAfterLeaseOf(held.record));
    expect(await scene.entries("stolen")).toMatchObject([
      { details: { reason: "lease_expired", evidence: { life: "unknown" } } },
    ]);
  });

  it("STALE-2: a holder whose proof of life was deleted is renewed and keeps the lock", async () => {
    await using scene = new Scene(kind);
    const [holder, next] = await scene.startTwo({ heartbeat: "500ms" });
    const held = await holder.acquire("work", { ttl: "10m" });
    rmSync(scene.proofFile(held.record.nonce));
    expect(await next.tryAcquire("work")).toBeNull();
    await scene.untilRenewed("work", new Date());
    expect(await next.tryAcquire("work")).toBeNull();
    await held.commit(scene.file("result"), "kept");
    expect(scene.read("result")).toBe("kept");
  });

  // kills: proof-identity
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
    const taken = await next.acquire("work", { wait: "1m" });
    expect(taken.record).toSatisfy(isAfterLeaseOf(held.record));
    expect(await scene.entries("stolen")).toMatchObject([{ details: { evidence: { life: "unknown" } } }]);
  });
});
