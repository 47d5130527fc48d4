import { spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { describe, expect, it, vi } from "vitest";
import { createThreadHeart } from "../../../dist/client/renewing/thread-renewer.js";
import { identifyStore } from "../../../dist/store/open.js";
import { openHoldfast } from "../../../src/index.js";
import { createSystemClock } from "../../../src/platform/clock.js";
import { tryLockExclusive } from "../../../src/platform/kernel-lock.js";

describe("a heart thread", () => {
  // Beside the sources there is no thread to start: each one fails, a moment after the first lease.
  // kills: dead-heart-thread
  it("LOCK-5: that could not start keeps nobody from closing, nor the next one from working", async () => {
    const root = mkdtempSync(join(tmpdir(), "holdfast-heart-"));
    for (let round = 0; round < 12; round += 1) {
      const holdfast = await openHoldfast({ store: `file:${root}`, owner: "agent:a" });
      const lease = await holdfast.acquire("shop");
      await new Promise((resolve) => setTimeout(resolve, 8 * round));
      await lease.verify();
      expect(await within(5_000, holdfast.close())).toBe("closed");
    }
    rmSync(root, { recursive: true });
  });

  // kills: heart-in-the-loop, heart-without-thread (cannot be started)
  it.each([
    ["breaks down", "constructor(url, options) { super(new URL('./gone.js', url), options); }"],
    ["cannot be started", "constructor() { throw new Error('no more threads'); }"],
  ])("LOCK-5: that %s leaves its leases to the event loop, and says so once", (_, making) => {
    const root = mkdtempSync(join(tmpdir(), "holdfast-heart-"));
    const preload = `const threads = require("node:worker_threads");
      threads.Worker = class extends threads.Worker { ${making} };
      require("node:module").syncBuiltinESMExports();`;
    writeFileSync(join(root, "preload.cjs"), preload);
    const program = `import { openHoldfast } from ${JSON.stringify(new URL("../../../dist/index.js", import.meta.url).href)};
      const [told, states] = [[], []];
      process.on("warning", ({ name, code }) => told.push([name, code]));
      for (let round = 0; round < 2; round += 1) {
        const holdfast = await openHoldfast({ store: ${JSON.stringify(`file:${join(root, "store")}`)} });
        const lease = await holdfast.acquire("k");
        states.push(lease.state);
        await holdfast.close();
      }
      setImmediate(() => console.log(JSON.stringify({ told, states })));`;
    writeFileSync(join(root, "program.mjs"), program);
    const words = ["--no-warnings", "--require", join(root, "preload.cjs"), join(root, "program.mjs")];
    const { stdout, stderr } = spawnSync(process.execPath, words, { encoding: "utf8" });
    expect(stderr).toBe("");
    const told = [["HoldfastWarning", "HOLDFAST_NO_HEART_THREAD"]];
    expect(JSON.parse(stdout)).toEqual({ told, states: ["held", "held"] });
    rmSync(root, { recursive: true });
  });

  // kills: heart-of-the-last
  it("LOCK-5: that is given to the next heart says nothing more of what it kept for the last one", async () => {
    await using scene = await stuckInOneTree();
    const { store, stuck, well } = scene;
    const told: string[] = [];
    const beats = async (name: string, grants: readonly unknown[], ageMs: number) => {
      const heart = createThreadHeart(store, clock, { heartbeatMs: 300, maxStallMs: null }, NO_OTHER_HEART);
      const since = clock().bootMs - ageMs;
      const tell = (what: string) => void told.push(`${name} ${what}`);
      heart.keep({
        grants: grants as BuiltPulse["grants"],
        leaseMs: 30_000,
        renewToMs: 30_000,
        since,
        onLost: () => tell("is lost"),
        onSuspect: () => tell("is suspect"),
      });
      await new Promise((resolve) => setTimeout(resolve, 500));
      await heart.close();
    };
    await beats("the last", stuck, 1_000);
    await beats("the next", well, 0);
    expect(told.filter((each) => each.startsWith("the next"))).toEqual([]);
  });

  // kills: renewer-expects
  it("LOCK-5: ends the leases of a store that is another one by then, and opens no other", async () => {
    await using scene = await stuckInOneTree();
    const { store, well } = scene;
    const heart = createThreadHeart(
      { ...store, id: "x" },
      clock,
      { heartbeatMs: 100, maxStallMs: null },
      NO_OTHER_HEART,
    );
    const lost = new Promise<string>((onLost) => {
      heart.keep({
        grants: well as unknown as BuiltPulse["grants"],
        leaseMs: 30_000,
        renewToMs: 30_000,
        since: clock().bootMs - 1_000,
        onLost: ({ code }) => onLost(code),
        onSuspect: () => onLost("suspect"),
      });
    });
    const beaten = new Promise((resolve) => setTimeout(resolve, 60_000, "nothing"));
    expect(await Promise.race([lost, beaten])).toBe("E_STORE_CORRUPT");
    await heart.close();
  });

  // kills: heart-beats-apart
  it("LOCK-5: that is stuck in one tree renews what is held in others", async () => {
    await using scene = await stuckInOneTree();
    const { store, stuck, well } = scene;
    const heart = createThreadHeart(store, clock, { heartbeatMs: 100, maxStallMs: null }, NO_OTHER_HEART);
    let isGivenUp = false;
    const keep = (grants: readonly unknown[], since: number) =>
      heart.keep({
        grants: grants as BuiltPulse["grants"],
        leaseMs: 30_000,
        renewToMs: 30_000,
        since,
        onLost: () => undefined,
        onSuspect: () => {
          isGivenUp = true;
        },
      });
    const now = clock().bootMs;
    const beating = keep(well, now);
    await vi.waitUntil(() => beating.since() > now, OUTCOME);
    const other = keep(stuck, now - 1_000);
    // The first may have been on its way before the other got stuck.
    for (let beats = 0; beats < 4; beats += 1) {
      const last = beating.since();
      await vi.waitUntil(() => isGivenUp || beating.since() > last, OUTCOME);
    }
    expect(isGivenUp, "after as long as a step waits for a guard").toBe(false);
    expect(other.since()).toBe(now - 1_000);
    await heart.close();
  });

  // kills: heart-awake
  it("LOCK-5: stays awake between short leases, so that each of them costs no message", async () => {
    // However long the pauses take, nothing was let go for long.
    const { bootMs } = clock();
    const still = () => ({ ...clock(), bootMs });
    const heart = createThreadHeart(
      { url: "memory:heart", id: "memory:heart" },
      still,
      { heartbeatMs: 10_000, maxStallMs: null },
      NO_OTHER_HEART,
    );
    const hold = (): void => {
      const onLost = () => undefined;
      heart.keep({ grants: [], leaseMs: 30_000, renewToMs: 30_000, since: bootMs, onLost, onSuspect: onLost }).stop();
    };
    hold();
    const said = vi.spyOn(Worker.prototype, "postMessage");
    for (let round = 0; round < 2; round += 1) {
      // Longer than the time between two looks at whether anything is held.
      await new Promise((resolve) => setTimeout(resolve, 300));
      hold();
    }
    expect(said.mock.calls).toEqual([]);
    said.mockRestore();
    await heart.close();
  });

  it("LOCK-5: looks as often as the shortest lease needs it, also when one becomes shorter", async () => {
    const said = vi.spyOn(Worker.prototype, "postMessage");
    const heart = createThreadHeart(
      { url: "memory:heart", id: "memory:heart" },
      clock,
      { heartbeatMs: 10_000, maxStallMs: null },
      NO_OTHER_HEART,
    );
    const keep = (leaseMs: number) => {
      const onLost = () => undefined;
      const since = clock().bootMs;
      return heart.keep({ grants: [], leaseMs, renewToMs: leaseMs, since, onLost, onSuspect: onLost });
    };
    // An idle thread is also told whom it serves.
    const told = () => said.mock.calls.splice(0).flatMap(([order]) => ("lookEveryMs" in order ? [order] : []));
    const long = keep(60_000);
    expect(told()).toEqual([{ lookEveryMs: 1_000 }]);
    keep(30_000).stop();
    expect(told()).toEqual([]);
    long.renewing(12_000);
    expect(told()).toEqual([{ lookEveryMs: 400 }]);
    keep(1_000).stop();
    expect(told()).toEqual([{ lookEveryMs: 100 }]);
    said.mockRestore();
    long.stop();
    await heart.close();
  });
});

/** Grants in two trees, of which somebody keeps the guard of one. */
async function stuckInOneTree() {
  const root = mkdtempSync(join(tmpdir(), "holdfast-heart-"));
  const url = `file:${root}`;
  const holdfast = await openHoldfast({ store: url, owner: "agent:a" });
  const store = { url, id: (await identifyStore(url)) ?? "" };
  const stuck = (await holdfast.acquire("stuck")).refs;
  const well = (await holdfast.acquire("well")).refs;
  const guard = openSync(join(root, "locks", "stuck", "guard"), "r+");
  tryLockExclusive(guard);
  return {
    store,
    stuck,
    well,
    async [Symbol.asyncDispose]() {
      closeSync(guard);
      await holdfast.close();
      rmSync(root, { recursive: true });
    },
  };
}

type BuiltPulse = Parameters<ReturnType<typeof createThreadHeart>["keep"]>[0];

const OUTCOME = { timeout: 240_000, interval: 20 };
const clock = createSystemClock();
const NO_OTHER_HEART = {
  keep(): never {
    throw new Error("there are slots enough");
  },
  async close() {},
};

async function within(ms: number, closing: Promise<void>): Promise<"closed" | "hangs"> {
  const timeout = new Promise<"hangs">((resolve) => setTimeout(resolve, ms, "hangs"));
  return Promise.race([closing.then(() => "closed" as const), timeout]);
}
