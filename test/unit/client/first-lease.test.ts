/** What an instance makes only when it is needed. */
import { describe, expect, it } from "vitest";
import { Holdfast } from "../../../src/client/holdfast.js";
import { createLoopHeart } from "../../../src/client/renewing/loop-renewer.js";
import { createSystemClock } from "../../../src/platform/clock.js";
import { openStore } from "../../../src/store/open.js";

describe("the renewer of an instance", () => {
  // kills: heart-of-the-first, heart-once
  it("is made with the first lease that is renewed, and closed with the instance", async () => {
    const clock = createSystemClock();
    const store = await openStore("memory:first-lease", {}, clock);
    const calls: string[] = [];
    const holdfast = new Holdfast({
      store,
      owner: "agent:tested",
      clock,
      createHeart() {
        const heart = createLoopHeart(store.locks, clock, { heartbeatMs: 10_000, maxStallMs: null });
        calls.push("made");
        return {
          keep: (pulse) => heart.keep(pulse),
          close() {
            calls.push("closed");
            return heart.close();
          },
        };
      },
      ttl: undefined,
      wait: undefined,
      env: {},
      graceMs: null,
      strictOrder: false,
      files: { kind: "none" },
      settings: {},
    });
    const detached = await holdfast.acquire("detached", { detached: true });
    await holdfast.inspect("detached");
    await detached.release();
    expect(calls).toEqual([]);
    await (await holdfast.acquire("one")).release();
    await holdfast.acquire("two");
    expect(calls).toEqual(["made"]);
    await holdfast.close();
    expect(calls).toEqual(["made", "closed"]);
  });
});
