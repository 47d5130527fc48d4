import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Holdfast } from "../../../src/client/holdfast.js";
import { openHoldfast } from "../../../src/features/configuration.js";

const NAMES = ["acquired", "released", "refused", "lost", "ended"] as const;

let heard: [string, unknown][];
let holdfast: Holdfast;
const hear = (message: unknown, name: string | symbol): void => void heard.push([String(name), message]);

beforeEach(async () => {
  heard = [];
  for (const name of NAMES) subscribe(`holdfast:${name}`, hear);
  holdfast = await openHoldfast({ store: "memory:events", owner: "user:ann", heart: "loop" });
});
afterEach(async () => {
  for (const name of NAMES) unsubscribe(`holdfast:${name}`, hear);
  await holdfast.close();
});

describe("what the library tells about itself", () => {
  it("LIB-1: grants, waits, refusals, ends and losses go through node:diagnostics_channel", async () => {
    const lease = await holdfast.acquire(["a", "b"], { mode: "read" });
    await expect(holdfast.acquire("a", { wait: 0 })).rejects.toThrow();
    await lease.release();
    const broken = await holdfast.acquire("c");
    await holdfast.break("c", { reason: "test" });
    await expect(broken.verify()).rejects.toThrow();
    const owner = "user:ann";
    expect(heard).toEqual([
      ["holdfast:acquired", { resources: ["a", "b"], mode: "read", owner, waitedMs: expect.any(Number) }],
      ["holdfast:refused", { resources: ["a"], owner, code: "E_LOCK_CONFLICT", queueLength: 0 }],
      ["holdfast:released", { resources: ["a", "b"], mode: "read", owner, heldMs: expect.any(Number) }],
      ["holdfast:acquired", { resources: ["c"], mode: "write", owner, waitedMs: expect.any(Number) }],
      ["holdfast:ended", { resource: "c", owner }],
      ["holdfast:lost", { resources: ["c"], owner, code: "E_LOCK_NOT_HELD" }],
    ]);
  });

  it("LIB-1: nothing is told while nobody listens", async () => {
    for (const name of NAMES) unsubscribe(`holdfast:${name}`, hear);
    await (await holdfast.acquire("a")).release();
    expect(heard).toEqual([]);
  });
});
