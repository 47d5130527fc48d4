/** A process looks at a tree's folder once a step, and at its files only when a name there was changed. */
import { closeSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Holdfast, openHoldfast } from "../../../../src/index.js";
import { tryLockExclusive } from "../../../../src/platform/kernel-lock.js";

/** After this the names of a folder count as settled. */
const SETTLED_MS = 60;

describe("a tree whose names have not changed for a while", () => {
  let root: string;
  let one: Holdfast;
  let other: Holdfast;

  beforeEach(async () => {
    root = mkdtempSync(join(tmpdir(), "holdfast-names-"));
    one = await openHoldfast({ store: `file:${root}`, owner: "agent:one" });
    other = await openHoldfast({ store: `file:${root}`, owner: "agent:other" });
    for (const holdfast of [one, other]) await (await holdfast.acquire("shop")).release();
    await sleep(SETTLED_MS);
    for (const holdfast of [one, other]) await (await holdfast.acquire("shop")).release();
  });
  afterEach(async () => {
    await one.close();
    await other.close();
    rmSync(root, { recursive: true });
  });

  it("LOCK-1: shows what another has written in place", async () => {
    const lease = await other.acquire("shop");
    expect(await one.tryAcquire("shop")).toBeNull();
    await lease.release();
    expect((await one.acquire("shop")).fencingToken).toBeGreaterThan(lease.fencingToken);
  });

  it("LOCK-1: shows what another has written in its place", async () => {
    await other.acquire("shop", { detached: true });
    expect(await one.tryAcquire("shop")).toBeNull();
  });

  // kills: names-changed
  it("STORE-2: is missed by everybody when its record is taken away by hand", async () => {
    const held = await one.acquire("shop");
    await sleep(SETTLED_MS);
    await other.tryAcquire("shop");
    rmSync(join(root, "locks", "shop", "tree.json"));
    await expect(other.acquire("shop")).rejects.toMatchObject({ code: "E_STORE_CORRUPT" });
    await expect(held.commit(() => "written")).rejects.toMatchObject({ code: "E_STORE_CORRUPT" });
  });

  it("LOCK-1: lets two in who would meet at another guard only one after the other", async () => {
    rmSync(join(root, "locks", "shop", "guard"));
    const lease = await one.acquire("shop");
    expect(await other.tryAcquire("shop")).toBeNull();
    await lease.release();
  });
});

describe("a tree beside more trees than are kept open", () => {
  // kills: tree-closed-in-use
  it("LOCK-1: is used again although all the others are in use", async () => {
    const root = mkdtempSync(join(tmpdir(), "holdfast-names-"));
    const holdfast = await openHoldfast({ store: `file:${root}`, owner: "agent:a" });
    const busy = Array.from({ length: 64 }, (_, at) => `busy-${at}`);
    for (const key of busy) await (await holdfast.acquire(key)).release();
    const guards = busy.map((key) => openSync(join(root, "locks", key, "guard"), "r+"));
    for (const guard of guards) expect(tryLockExclusive(guard)).toBe(true);
    const waiting = busy.map(async (key) => (await holdfast.acquire(key)).release());
    await sleep(20);
    for (let time = 0; time < 3; time += 1) await (await holdfast.acquire("free")).release();
    for (const guard of guards) closeSync(guard);
    await Promise.all(waiting);
    await holdfast.close();
    rmSync(root, { recursive: true });
  });
});
