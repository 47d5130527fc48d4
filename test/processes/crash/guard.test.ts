/** What goes wrong around guards, proofs and decisions must not leave a lock that nobody can take any more. */
import { existsSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Holdfast } from "../../../src/client/holdfast.js";
import { openGuard } from "../../../src/files/guard.js";
import { newNonce, openProofOfLife, probeLife, sweepProofs } from "../../../src/platform/liveness/proof-of-life.js";
import { scratchFolder } from "../../fixtures/crash/crash-sweep.fixture.js";
import { observe, worldAt } from "../../fixtures/crash/store-state.fixture.js";
import { faults } from "../../fixtures/fault-injection.fixture.mjs";

let dir: string;
const clients: Holdfast[] = [];

beforeEach(() => {
  dir = scratchFolder();
});

afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
  rmSync(dir, { recursive: true, force: true });
});

async function open(owner: string): Promise<Holdfast> {
  const client = await worldAt(dir).open(owner);
  clients.push(client);
  return client;
}

describe("guards", () => {
  it("STORE-2: of several, those entered are left when the next one fails", async () => {
    const a = await open("agent:a");
    await (await a.acquire(["alpha", "beta"])).release();
    rmSync(join(dir, "locks", "beta"), { recursive: true });
    writeFileSync(join(dir, "locks", "beta"), "no folder");
    await expect(a.acquire(["alpha", "beta"])).rejects.toMatchObject({ code: "E_IO" });
    for (const client of [a, await open("agent:b")]) await (await client.acquire("alpha")).release();
    rmSync(join(dir, "locks", "beta"));
    await (await a.acquire(["alpha", "beta"])).release();
  });

  // kills: guard-made-anew
  it("STORE-2: one that was deleted and made anew keeps out whoever still has the old one", () => {
    const path = join(dir, "guard");
    const old = openGuard(path);
    rmSync(path);
    const fresh = openGuard(path);
    expect(fresh.tryEnter()).toBe(true);
    expect(old.tryEnter()).toBe(false);
    expect(old.tryEnter()).toBe(false);
    fresh.leave();
    expect(old.tryEnter()).toBe(true);
    for (const guard of [old, fresh]) guard.close();
  });

  it("STORE-2: an error while looking whether it is the right file leaves it free", () => {
    const path = join(dir, "guard");
    const [one, other] = [openGuard(path), openGuard(path)];
    faults.watch(dir);
    faults.arm({ at: 1, what: "EIO", changesOnly: false });
    expect(() => one.tryEnter()).toThrow(expect.objectContaining({ code: "E_IO" }));
    faults.disarm();
    expect(other.tryEnter()).toBe(true);
    other.leave();
    for (const guard of [one, other]) guard.close();
  });

  it("STORE-2: an error while a deleted one is made again closes no descriptor twice", () => {
    const path = join(dir, "guard");
    const guard = openGuard(path);
    rmSync(path);
    faults.watch(dir);
    faults.arm({ at: 3, what: "EIO", changesOnly: false });
    expect(() => guard.tryEnter()).toThrow(expect.objectContaining({ code: "E_IO" }));
    faults.disarm();
    const stranger = openGuard(join(dir, "stranger")); // Takes the number of a descriptor that was closed by mistake.
    expect(stranger.tryEnter()).toBe(true);
    expect(guard.tryEnter()).toBe(false); // Finds out that its file is gone, and makes it again.
    expect(guard.tryEnter()).toBe(true);
    expect(openGuard(join(dir, "stranger")).tryEnter()).toBe(false);
    for (const each of [guard, stranger]) each.close();
  });

  it("STORE-2: whoever waits for one when the store is closed gets an error, not somebody else's descriptor", async () => {
    const a = await worldAt(dir).open("agent:a");
    await (await a.acquire("alpha")).release();
    const guard = openGuard(join(dir, "locks", "alpha", "guard"));
    expect(guard.tryEnter()).toBe(true);
    const { rawStore } = a as unknown as {
      rawStore: { fence: { verify(key: string, n: number): Promise<unknown> }; close(): Promise<void> };
    };
    const waiting = rawStore.fence.verify("alpha", 1);
    await rawStore.close();
    await expect(waiting).rejects.toMatchObject({ code: "E_STORE_UNAVAILABLE" });
    await expect(rawStore.fence.verify("alpha", 1)).rejects.toMatchObject({ code: "E_STORE_UNAVAILABLE" });
    guard.close();
  });
});

describe("decisions", () => {
  // kills: file-decision-kept
  it("STORE-2: one that a tree has not carried out yet stays, however long that takes", async () => {
    const a = await open("agent:a");
    const reader = await worldAt(dir).open("user:reader");
    await (await a.acquire(["alpha", "beta"])).release();
    faults.watch(join(dir, "locks", "beta"));
    // In the tree: announce, then take over. The disk fails from the second write on.
    let lease = null;
    for (let at = 1; lease === null; at += 1) {
      faults.arm({ at, what: "EIO", changesOnly: true });
      lease = await a.acquire(["alpha", "beta"]).catch(() => null);
      if (lease !== null && readdirSync(join(dir, "ops")).length === 0) {
        await lease.release();
        lease = null;
      }
      faults.disarm();
      if (at > 20) throw new Error("no decision was ever left");
    }
    expect(readdirSync(join(dir, "ops"))).toHaveLength(1);
    expect((await observe(dir, reader)).grants).toHaveLength(2);
    await lease.verify();
    await lease.release();
    await observe(dir);
    expect(readdirSync(join(dir, "ops"))).toEqual([]);
  });
});

describe("proofs of life", () => {
  const DAY_MS = 86_400_000;
  const old = new Date(Date.now() - 3 * DAY_MS);

  it("STALE-2: that of a process that lived long proves its death for long", () => {
    const nonce = newNonce();
    const proof = openProofOfLife(dir, nonce, {});
    utimesSync(proof.path, old, old);
    sweepProofs(dir, DAY_MS);
    expect(probeLife(dir, nonce, proof.identity)).toBe("alive");
    const late = newNonce();
    const mark = faults.mark();
    const { identity, path } = openProofOfLife(dir, late, {});
    utimesSync(path, old, old);
    faults.bury(mark);
    sweepProofs(dir, DAY_MS);
    expect(probeLife(dir, late, identity)).toBe("dead");
    utimesSync(path, old, old);
    sweepProofs(dir, DAY_MS);
    expect(existsSync(path)).toBe(false);
    expect(existsSync(proof.path)).toBe(true);
    proof.close();
  });
});
