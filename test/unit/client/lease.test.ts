import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { HoldfastError } from "../../../src/base/errors.js";
import type { Lease } from "../../../src/client/lease/lease.js";
import { noting } from "../../../src/client/lease/loss.js";
import { openHoldfast } from "../../../src/features/configuration.js";
import { openWorkplace, pass, type Workplace } from "../../fixtures/client/instance.fixture.js";
import { key } from "../../fixtures/lock/samples.fixture.js";
import { PARTY } from "../../fixtures/store/acquire-request.fixture.js";

const UNAVAILABLE = new HoldfastError("E_STORE_UNAVAILABLE", "the line is cut", { reason: "unreachable" });

let place: Workplace;

beforeEach(() => {
  vi.useFakeTimers();
  place = openWorkplace();
});
afterEach(() => vi.useRealTimers());

/** Milliseconds after which the signal of the lease aborts. */
async function lostAfter(lease: Lease): Promise<number> {
  const { signal } = lease;
  const startedAt = Date.now();
  for (let ms = 0; ms < 60_000 && !signal.aborted; ms += 5) await pass(5);
  return Date.now() - startedAt;
}

describe("trust in a lease", () => {
  // kills: nearer-end
  it("LOCK-6: one that is made shorter ends sooner, also when the answer to that is lost", async () => {
    const lease = await place.holdfast.acquire("k", { ttl: "30s" });
    place.slow.set("renew", 600_000);
    lease.renew("1s").catch(() => undefined);
    expect(await lostAfter(lease)).toBeLessThanOrEqual(910);
    expect(lease.signal.reason).toMatchObject({ code: "E_LOCK_EXPIRED" });
  });

  // kills: stopped-trust
  it("LOCK-6: one that could not be released while it was renewed is held for as long as it is renewed", async () => {
    for (let ticks = 0; ticks < 12; ticks += 1) {
      const outer = await place.holdfast.acquire(`k${ticks}`, { ttl: "1s" });
      const inner = await outer.acquire(`k${ticks}/below`, { ttl: "1h" });
      const renewing = outer.renew();
      for (let tick = 0; tick < ticks; tick += 1) await null;
      const releasing = outer.release();
      await Promise.allSettled([renewing, releasing]);
      await expect(releasing).rejects.toMatchObject({ code: "E_LOCK_ORDER" });
      await pass(3_000);
      expect([ticks, outer.signal.aborted, outer.state]).toEqual([ticks, false, "held"]);
      await inner.release();
      await outer.release();
    }
  });

  // kills: converted-at-once
  it("LOCK-9: what is converted twice at the same time is what the last conversion has made of it", async () => {
    const lease = await place.holdfast.acquire("k", { mode: "upgradeable" });
    place.slow.set("upgrade", 50);
    const converted = Promise.all([lease.upgrade(), lease.downgrade()]);
    await pass(200);
    await converted;
    const [grant] = (await place.other.inspect("k")).grants;
    expect([lease.mode, lease.fencingToken]).toEqual(["read", grant?.fencing_token]);
    expect(grant?.mode).toBe("read");
  });

  // kills: verified-once
  it("LOCK-9: is verified by the number it has, also while it is converted", async () => {
    const lease = await place.holdfast.acquire("k", { mode: "upgradeable" });
    place.slow.set("upgrade", 50);
    const upgrading = lease.upgrade();
    await pass(10);
    const both = Promise.allSettled([upgrading, lease.verify()]);
    await pass(200);
    expect((await both).map(({ status }) => status)).toEqual(["fulfilled", "fulfilled"]);
    expect(lease.state).toBe("held");
  });

  it("LOCK-9: what somebody else has ended is lost, also when it was to be converted meanwhile", async () => {
    const lease = await place.holdfast.acquire("k", { mode: "upgradeable" });
    const [{ resource, lockId, tokenHash } = { resource: key("k"), lockId: "", tokenHash: "" }] = lease.held;
    await place.locks.release([{ resource, lockId, tokenHash }], PARTY);
    const both = Promise.allSettled([lease.upgrade(), lease.verify()]);
    await pass(200);
    expect((await both).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(lease.state).toBe("lost");
  });

  // kills: closed-endings
  it("LOCK-6: one that its workplace could not give back when it closed is told of its end", async () => {
    const outer = await place.holdfast.acquire("k", { ttl: "1s" });
    const borrowed = await place.other.borrow("k", outer.token);
    await place.other.acquire("k/below", { within: [borrowed] });
    const { signal } = outer;
    await place.holdfast.close();
    expect(signal.aborted).toBe(false);
    await pass(1_000);
    expect(signal.reason).toMatchObject({ code: "E_LOCK_EXPIRED" });
  });

  it("LOCK-6: ends a second before others may take over, or a tenth of a short lease", async () => {
    for (const [ttl, trusted] of [
      [30_000, 29_000],
      [10_000, 9_000],
      [2_000, 1_800],
      [1_000, 900],
    ] as const) {
      const lease = await place.holdfast.acquire(`k${ttl}`, { ttl, detached: true });
      const after = await lostAfter(lease);
      expect(after).toBeGreaterThanOrEqual(trusted);
      expect(after).toBeLessThanOrEqual(trusted + 10);
      expect(lease.signal.reason).toMatchObject({ code: "E_LOCK_EXPIRED" });
      expect(lease.state).toBe("lost");
      expect(await place.other.tryAcquire(`k${ttl}`)).toBe(null);
      await pass(ttl - after);
      expect(await place.other.tryAcquire(`k${ttl}`)).not.toBe(null);
    }
  });

  it("LOCK-6: runs from before the request was sent, not from when the answer came", async () => {
    place.slow.set("acquire", 3_000);
    const asking = place.holdfast.acquire("k", { ttl: 10_000, detached: true });
    await pass(3_000);
    expect(await lostAfter(await asking)).toBeLessThanOrEqual(6_010);
  });

  // kills: trust-from-sending
  it("LOCK-6: is renewed from before the renewal was sent, too", async () => {
    const lease = await place.holdfast.acquire("k", { ttl: 10_000, detached: true });
    await pass(4_000);
    place.slow.set("renew", 3_000);
    const renewing = lease.renew();
    await pass(3_000);
    await renewing;
    const after = await lostAfter(lease);
    expect(after).toBeGreaterThanOrEqual(5_995);
    expect(after).toBeLessThanOrEqual(6_010);
  });

  it("LOCK-6: has run out the moment anybody looks, timer or not", async () => {
    const lease = await place.holdfast.acquire("k", { ttl: 10_000, detached: true });
    vi.setSystemTime(Date.now() + 9_000);
    expect(lease.state).toBe("lost");
    await expect(lease.commit(() => "written")).rejects.toMatchObject({ code: "E_LOCK_EXPIRED" });
    expect(place.calls).toEqual(["acquire"]);
  });
});

describe("heartbeats", () => {
  it("LOCK-5: come every 10 s, and three times in a shorter lease", async () => {
    await place.holdfast.acquire("long", { ttl: "1h" });
    await pass(60_000);
    expect(place.calls.filter((call) => call === "renew")).toHaveLength(6);
    const short = openWorkplace();
    const lease = await short.holdfast.acquire("short", { ttl: "3s" });
    await pass(60_000);
    expect(short.calls.filter((call) => call === "renew").length).toBeGreaterThanOrEqual(59);
    expect(lease.state).toBe("held");
  });

  it("LOCK-5: follow the lease to another length at once", async () => {
    const lease = await place.holdfast.acquire("k", { ttl: "1h" });
    await lease.renew("3s");
    await pass(30_000);
    expect(lease.state).toBe("held");
    await lease.verify();
  });

  it("LOCK-5: stop with the release, and a detached lease has none", async () => {
    const lease = await place.holdfast.acquire("k", { ttl: "3s" });
    await place.holdfast.acquire("d", { ttl: "3s", detached: true });
    await lease.release();
    await pass(20_000);
    expect(place.calls).not.toContain("renew");
  });

  it.each([UNAVAILABLE, new HoldfastError("E_IO", "a disk error"), new TypeError("a bug")])(
    "LOCK-6: a renewal whose outcome is unknown (%s) makes the lease suspect, a good one held again",
    async (error) => {
      const lease = await place.holdfast.acquire("k", { ttl: "30s" });
      place.failing.set("renew", error);
      await pass(10_000);
      expect(lease.state).toBe("suspect");
      expect(lease.signal.aborted).toBe(false);
      expect(await lease.commit(() => "written")).toBe("written");
      place.failing.clear();
      await pass(10_000);
      expect(lease.state).toBe("held");
    },
  );

  it("LOCK-6: a suspect lease is lost when its trust runs out, and stays lost", async () => {
    const lease = await place.holdfast.acquire("k", { ttl: "30s" });
    place.failing.set("renew", UNAVAILABLE);
    expect(await lostAfter(lease)).toBeLessThanOrEqual(29_010);
    expect(lease.signal.reason).toMatchObject({ code: "E_LOCK_EXPIRED" });
    place.failing.clear();
    await pass(60_000);
    expect(lease.state).toBe("lost");
    await expect(lease.commit(() => "written")).rejects.toBe(lease.signal.reason);
  });

  it("LOCK-6: a refused renewal loses the lease at once", async () => {
    const lease = await place.holdfast.acquire("k", { ttl: "30s" });
    place.failing.set("renew", new HoldfastError("E_LOCK_NOT_HELD", "somebody has ended it"));
    await pass(10_000);
    expect(lease.state).toBe("lost");
    expect(lease.signal.reason).toMatchObject({ code: "E_LOCK_NOT_HELD" });
  });
});

describe("an error of the caller's own", () => {
  it.each(["E_LOCK_EXPIRED", "E_LOCK_NOT_HELD", "E_FENCING_MISMATCH"] as const)(
    "LOCK-6 FENCE-2: a write that throws %s of another lease does not lose the one it is under",
    async (code) => {
      const lease = await place.holdfast.acquire("k", { ttl: "30s" });
      const theirs = new HoldfastError(code, "another lease is over");
      const write = (): void => {
        throw theirs;
      };
      await expect(lease.commit(write)).rejects.toBe(theirs);
      expect([lease.state, lease.signal.aborted]).toEqual(["held", false]);
      expect(await lease.commit(() => "written")).toBe("written");
      const party = { owner: "admin:ann", holderId: "host:ann:1:1", nonce: "ann", proof: { kind: "none" } } as const;
      await place.locks.end({ resource: key("k"), party, how: "broken", reason: "needed" });
      await expect(lease.commit(write)).rejects.toMatchObject({ code: "E_LOCK_NOT_HELD" });
      expect(lease.state).toBe("lost");
    },
  );

  it("LOCK-6 FENCE-2: nor does a transaction, and a write that promises is refused before it runs", async () => {
    vi.useRealTimers();
    const dir = mkdtempSync(join(tmpdir(), "holdfast-lease-"));
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
    await using holdfast = await openHoldfast({ store: `sqlite:${join(dir, "holdfast.db")}`, heart: "loop" });
    const lease = await holdfast.acquire("k");
    const theirs = new HoldfastError("E_LOCK_EXPIRED", "another lease is over");
    const body = (): void => {
      throw theirs;
    };
    await expect(lease.transaction(body)).rejects.toBe(theirs);
    expect(lease.state).toBe("held");
    let hasRun = false;
    const promising = async (): Promise<void> => {
      hasRun = true;
    };
    await expect(lease.commit(promising)).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT" });
    expect(hasRun).toBe(false);
  });

  it("LOCK-6: what a promise of it says is noted as well", async () => {
    const thrown = new Set<unknown>();
    const theirs = new HoldfastError("E_LOCK_EXPIRED", "another lease is over");
    await expect(noting(() => Promise.reject(theirs), thrown)()).rejects.toBe(theirs);
    expect([...thrown]).toEqual([theirs]);
  });
});

describe("release", () => {
  it("LOCK-8: that could not reach the store can be tried again, and nothing renews meanwhile", async () => {
    const lease = await place.holdfast.acquire("k", { ttl: "3s" });
    place.failing.set("release", UNAVAILABLE);
    await expect(lease.release()).rejects.toBe(UNAVAILABLE);
    place.failing.clear();
    await lease.release();
    expect(lease.state).toBe("released");
    expect(await place.other.tryAcquire("k")).not.toBe(null);
    await pass(10_000);
    expect(place.calls).not.toContain("renew");
  });

  it("LOCK-8 LIB-1: that could not reach the store is a loss, and is told as one", async () => {
    const lease = await place.holdfast.acquire("k", { ttl: "30s" });
    const { signal } = lease;
    const told: unknown[] = [];
    const hear = (message: unknown): void => void told.push(message);
    subscribe("holdfast:lost", hear);
    onTestFinished(() => void unsubscribe("holdfast:lost", hear));
    const again: Promise<void>[] = [];
    signal.addEventListener("abort", () => {
      place.failing.clear();
      again.push(lease.release());
    });
    place.failing.set("release", UNAVAILABLE);
    await expect(lease.release()).rejects.toBe(UNAVAILABLE);
    expect(signal.reason).toMatchObject({ code: "E_LOCK_NOT_HELD", cause: UNAVAILABLE });
    expect(told).toEqual([{ resources: ["k"], owner: "agent:tested", code: "E_LOCK_NOT_HELD" }]);
    expect(again).toHaveLength(1);
    await Promise.all(again);
    expect([lease.state, told.length]).toEqual(["released", 1]);
  });

  // kills: release-under-way, release-before-close
  it("LOCK-8: asked for again while it is under way ends with it, and fails with it", async () => {
    const [lease, other] = [await place.holdfast.acquire("k"), await place.holdfast.acquire("o")];
    place.slow.set("release", 1_000);
    const over: string[] = [];
    for (const name of ["first", "second"]) void lease.release().then(() => over.push(name));
    const closed = place.holdfast.close().then(() => over.push("closed"));
    await pass(999);
    expect(over).toEqual([]);
    await pass(1);
    expect(over).toEqual(["first", "second"]);
    await pass(1_000);
    await closed;
    expect(other.state).toBe("released");
    expect(place.calls.filter((name) => name === "release")).toHaveLength(2);
  });

  it("LOCK-8: under way that fails does so for all who asked", async () => {
    const lease = await place.holdfast.acquire("k");
    place.failing.set("release", UNAVAILABLE);
    const both = [lease.release(), lease.release()];
    for (const each of both) await expect(each).rejects.toBe(UNAVAILABLE);
    expect(place.calls.filter((name) => name === "release")).toHaveLength(1);
  });

  it("LOCK-3: refused because something nests in it leaves the lease as it was, heartbeat and all", async () => {
    const outer = await place.holdfast.acquire("t", { ttl: "3s" });
    const inner = await outer.acquire("t/x", { ttl: "3s" });
    await expect(outer.release()).rejects.toMatchObject({ code: "E_LOCK_ORDER" });
    await pass(20_000);
    expect([outer.state, inner.state]).toEqual(["held", "held"]);
    await inner.release();
    await outer.release();
    expect(await place.other.list()).toEqual([]);
  });

  it("LOCK-6: of a lost lease does not bring it back to life", async () => {
    const lease = await place.holdfast.acquire(["p", "q"], { ttl: "1h" });
    const inner = await lease.acquire("p/x", { ttl: "1h" });
    const party = { owner: "admin:ann", holderId: "host:ann:1:1", nonce: "ann", proof: { kind: "none" } } as const;
    await place.locks.end({ resource: key("q"), party, how: "broken", reason: "needed" });
    await expect(lease.verify()).rejects.toMatchObject({ code: "E_LOCK_NOT_HELD" });
    await expect(lease.release()).rejects.toMatchObject({ code: "E_LOCK_ORDER" });
    expect(lease.state).toBe("lost");
    await inner.release();
    await lease.release();
    expect(await place.other.list()).toEqual([]);
  });
});
