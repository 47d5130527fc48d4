import { expect, it, vi } from "vitest";
import { sleep } from "../../../src/base/sleep.js";

it("LOCK-12: a pause that cannot begin leaves no timer behind", async () => {
  vi.useFakeTimers();
  try {
    await expect(sleep(1_000, {} as AbortSignal)).rejects.toThrow(TypeError);
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});
