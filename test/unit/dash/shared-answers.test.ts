/** DASH-1: what many look at is looked up once. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { SharedLooks } from "../../../src/apps/dash/shared-answers.js";

afterEach(() => vi.useRealTimers());

describe("DASH-1: answers that are shared", () => {
  it("one look for all who ask at one time and shortly after, and then another", async () => {
    vi.useFakeTimers();
    const shared = new SharedLooks();
    const look = vi.fn(async () => "seen");
    await Promise.all([shared.get("a", look), shared.get("a", look)]);
    vi.advanceTimersByTime(300);
    await shared.get("a", look);
    expect(look).toHaveBeenCalledTimes(1);
    vi.advanceTimersByTime(101);
    await shared.get("a", look);
    expect(look).toHaveBeenCalledTimes(2);
    shared.forget();
    await shared.get("a", look);
    expect(look).toHaveBeenCalledTimes(3);
  });

  it("keeps no answer for longer than it is good for", async () => {
    vi.useFakeTimers();
    const shared = new SharedLooks();
    for (const what of ["a", "b", "c"]) await shared.get(what, async () => what);
    expect(shared.size).toBe(3);
    vi.advanceTimersByTime(500);
    expect(shared.size).toBe(0);
  });

  it("a look that failed is made again, and one that failed late takes no newer one away", async () => {
    const shared = new SharedLooks();
    let fail = (_error: Error): void => undefined;
    const slow = shared.get("a", () => new Promise((_, reject) => (fail = reject)));
    shared.forget();
    await shared.get("a", async () => "new");
    fail(new Error("away"));
    await expect(slow).rejects.toThrow("away");
    const again = vi.fn(async () => "newer");
    expect(await shared.get("a", again)).toBe("new");
    expect(again).not.toHaveBeenCalled();
  });
});
