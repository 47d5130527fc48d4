/** What a waiter makes of a key that was handed to it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Holdfast, openHoldfast } from "../../../dist/index.js";

let folder: string;
let opened: Holdfast[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-handed-"));
  opened = [];
});
afterEach(async () => {
  for (const client of opened) await client.close();
  rmSync(folder, { recursive: true, force: true });
});

describe.each(["file", "sqlite"])("a key handed over (%s)", (scheme) => {
  const client = async (name: string, heart: "thread" | "loop" = "loop"): Promise<Holdfast> => {
    const store = scheme === "file" ? `file:${folder}` : `sqlite:${join(folder, "locks.db")}`;
    const holdfast = await openHoldfast({ store, owner: `agent:${name}`, heart, heartbeat: "500ms", wait: "1m" });
    opened.push(holdfast);
    return holdfast;
  };
  const untilWaiting = async (holdfast: Holdfast, key: string): Promise<void> => {
    while ((await holdfast.inspect(key)).waiters.length === 0) await sleep(5);
  };

  // kills: handed-and-left
  it("LOCK-12: is given back by a waiter that gave up at the same moment", async () => {
    const [a, b] = [await client("a"), await client("b")];
    const lease = await a.acquire("work");
    const giveUp = new AbortController();
    const waiting = b.acquire("work", { signal: giveUp.signal });
    waiting.catch(() => undefined);
    await untilWaiting(a, "work");
    // The release makes its step before it returns; the waiter hears of both at once.
    const released = lease.release();
    giveUp.abort(new Error("no more"));
    await expect(waiting).rejects.toThrow("no more");
    await released;
    expect(await a.inspect("work")).toMatchObject({ state: "free", waiters: [] });
    const told = (await a.audit.list({ resource: "work" })).map(({ event, owner }) => `${event} ${owner}`);
    expect(told.sort()).toEqual(["granted agent:a", "granted agent:b", "released agent:a", "released agent:b"]);
  });

  it.each(["thread", "loop"] as const)(
    "LOCK-6: is held for as long as was asked once the heart (%s) has beaten",
    async (heart) => {
      const [a, b] = [await client("a"), await client("b", heart)];
      const lease = await a.acquire("work");
      const waiting = b.acquire("work", { ttl: "1h" });
      await untilWaiting(a, "work");
      await lease.release();
      const handed = await waiting;
      // The whole hour if it was so late that it had to ask.
      expect([10, 3_600]).toContain(handed.grants[0]?.lease_duration_s);
      while ((await a.inspect("work")).grants[0]?.lease_duration_s !== 3_600) await sleep(20);
      expect(handed.state).toBe("held");
      await handed.commit(() => undefined);
      await handed.release();
    },
  );

  it("LOCK-6: is held for as long as was asked after a renewal by hand", async () => {
    const [a, b] = [await client("a"), await client("b")];
    const lease = await a.acquire("work");
    const waiting = b.acquire("work", { ttl: "1h" });
    await untilWaiting(a, "work");
    await lease.release();
    const handed = await waiting;
    await handed.renew();
    expect(handed.grants).toMatchObject([{ lease_duration_s: 3_600 }]);
    await handed.release();
  });
});
